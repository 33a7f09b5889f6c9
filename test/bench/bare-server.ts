import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { PrismaPg } from '@prisma/adapter-pg';
import express from 'express';
import { newId } from '../../src/domain/ids.ts';
import { PrismaClient, type Generation, type Prisma } from '../../src/db/generated/client.ts';

const PAGE = 20;

/** The body of a POST, unchecked. */
interface AskedRow {
  readonly model: string;
  readonly input: Prisma.InputJsonObject;
}

/** What a plain server shows of a row: as many members as our own answer has. */
function view(row: Generation) {
  const { id, tenantId, model, provider, state, stage, delivery, progress, errorCode, input, metadata } = row;
  const { createdAt, updatedAt, deadlineAt, startedAt, completedAt } = row;
  const labels = {
    id,
    tenantId,
    model,
    provider,
    state,
    stage,
    delivery,
    progress,
    errorCode,
    input,
    metadata,
  };
  const times = { createdAt, updatedAt, deadlineAt, startedAt, completedAt };
  return { ...labels, ...times, credits: Number(row.credits) };
}

/** The same columns as our row has, made up on the spot. */
function newRow(tenantId: string, body: AskedRow, plan: Prisma.InputJsonObject) {
  const now = new Date();
  return {
    id: newId('gen', now.getTime()),
    tenantId,
    accountId: tenantId.replace('ten_', 'acc_'),
    idempotencyRoute: 'POST /v1/generations',
    idempotencyKey: randomUUID(),
    requestSha256: Buffer.alloc(32, 7),
    responseBody: JSON.stringify({ ...body, id: tenantId, state: 'queued' }),
    model: body.model,
    provider: 'infro',
    input: body.input,
    metadata: {},
    plan,
    credits: 20n,
    createdAt: now,
    updatedAt: now,
    deadlineAt: new Date(now.getTime() + 900_000),
    dueAt: now,
  };
}

/** Express 5 and Prisma and nothing else: one insert, one select, one page of 20, on a copy of our table. */
async function main(databaseUrl: string): Promise<void> {
  const adapter = new PrismaPg({ connectionString: databaseUrl, max: 20 });
  const prisma = new PrismaClient({ adapter });
  const tenantId = newId('ten', Date.now());
  const plan = JSON.parse(process.env['BARE_PLAN'] ?? '{}') as Prisma.InputJsonObject;
  const app = express();
  app.use(express.json());
  app.post('/rows', async (request, response) => {
    const data = newRow(tenantId, request.body as AskedRow, plan);
    response.status(202).json(view(await prisma.generation.create({ data })));
  });
  app.get('/rows/:id', async (request, response) => {
    const row = await prisma.generation.findUnique({ where: { id: request.params.id } });
    if (row === null) response.status(404).json({});
    else response.json(view(row));
  });
  app.get('/rows', async (_request, response) => {
    const orderBy = [{ createdAt: 'desc' as const }, { id: 'desc' as const }];
    const rows = await prisma.generation.findMany({ where: { tenantId }, orderBy, take: PAGE });
    response.json({ data: rows.map(view) });
  });
  const server = app.listen(0, '127.0.0.1', () => {
    process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  process.once('disconnect', () => process.exit(0));
}

await main(process.argv[2] ?? '');
