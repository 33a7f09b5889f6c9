import { defineConfig } from 'prisma/config';

/** For `prisma migrate deploy` where Prisma's engine can be had; `npx darkroom migrate` needs no engine. */
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env['DATABASE_URL'] ?? '' },
});
