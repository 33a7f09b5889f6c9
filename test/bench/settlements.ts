import pg from 'pg';

/** One that ended, with the moment at which this process heard of it (performance.now()). */
type Heard = (atMs: number) => void;

const LIMIT_MS = 120_000;

/**
 * Hears of each generation that has ended by a trigger of the bench's own, so that nothing has to be asked again and
 * again. The NOTIFY goes out with the commit of settle().
 */
export class Settlements {
  readonly #client: pg.Client;
  readonly #waiting = new Map<string, Heard>();
  /** Heard before anybody asked: the answer to the POST was slower. */
  readonly #early = new Map<string, number>();

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on('notification', ({ payload }) => this.#take(payload ?? '', performance.now()));
  }

  static async listen(databaseUrl: string): Promise<Settlements> {
    const client = new pg.Client({ connectionString: databaseUrl });
    // PostgreSQL is stopped at once at the end.
    client.on('error', () => undefined);
    await client.connect();
    await client.query(`
      CREATE OR REPLACE FUNCTION bench_settled() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_notify('bench_settled', NEW.id); RETURN NULL; END $$;
      CREATE OR REPLACE TRIGGER bench_settled AFTER UPDATE ON generation FOR EACH ROW
        WHEN (OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL) EXECUTE FUNCTION bench_settled();
      LISTEN bench_settled`);
    return new Settlements(client);
  }

  /** Resolves with the moment of its end; rejects when it has none within two minutes. */
  of(generationId: string, limitMs = LIMIT_MS): Promise<number> {
    const early = this.#early.get(generationId);
    if (early !== undefined) {
      this.#early.delete(generationId);
      return Promise.resolve(early);
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(generationId);
        reject(new Error(`waited ${limitMs / 1_000} s in vain: the end of ${generationId}`));
      }, limitMs);
      this.#waiting.set(generationId, (atMs) => {
        clearTimeout(timer);
        resolve(atMs);
      });
    });
  }

  #take(generationId: string, atMs: number): void {
    const waiting = this.#waiting.get(generationId);
    if (waiting === undefined) this.#early.set(generationId, atMs);
    else {
      this.#waiting.delete(generationId);
      waiting(atMs);
    }
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
