import { join } from 'node:path';
import { type BinarySpec, isProgram, type OnProgress, programName, resolveBinary } from './binary.ts';
import { goInstall } from './binary-ways.ts';

/** The clustered server of the same version as the development server that we run otherwise. */
const VERSION = '1.28.1';

interface Tool {
  readonly title: string;
  /** As Temporal's own releases name it. */
  readonly program: string;
  /** As `go install` names it. */
  readonly built: string;
  readonly goPackage: string;
  readonly variable: string;
}

const SERVER: Tool = {
  title: 'the clustered Temporal server',
  program: 'temporal-server',
  built: 'server',
  goPackage: `go.temporal.io/server/cmd/server@v${VERSION}`,
  variable: 'TEMPORAL_SERVER_PATH',
};
const SQL_TOOL: Tool = {
  title: "the SQL tool of Temporal's server",
  program: 'temporal-sql-tool',
  built: 'sql',
  goPackage: `go.temporal.io/server/cmd/tools/sql@v${VERSION}`,
  variable: 'TEMPORAL_SQL_TOOL_PATH',
};

function specOf({ title, program, built, goPackage, variable }: Tool): BinarySpec {
  return {
    title,
    file: title,
    program,
    version: VERSION,
    variable,
    says: /temporal/i,
    find: (cache) => {
      const path = join(cache, programName(built));
      return isProgram(path) ? path : undefined;
    },
    ways: [
      goInstall({
        title,
        program: built,
        goPackage,
        minutes: 5,
        announcement: `building ${title} with Go (once for this machine)`,
      }),
    ],
    advice: [
      `- set ${variable} to ${title} (${program}), version ${VERSION};`,
      `- put "${program}" of https://github.com/temporalio/temporal/releases/tag/v${VERSION} on the PATH;`,
      `- install Go (https://go.dev/dl), or run: go install ${goPackage}.`,
    ],
  };
}

/** The programs of a clustered Temporal, as paths. */
export interface ClusterPrograms {
  readonly server: string;
  /** Sets up and upgrades the schema of its databases. */
  readonly sqlTool: string;
}

/**
 * Finds the clustered server and its SQL tool, or builds them once for this machine: their variables, the PATH, our
 * cache, `go install`.
 * @throws Error naming every way out when none works
 */
export async function resolveClusterPrograms(
  env: NodeJS.ProcessEnv,
  onProgress: OnProgress,
): Promise<ClusterPrograms> {
  // One after the other: the second build finds in Go's cache nearly all that the first has compiled.
  const server = await resolveBinary(specOf(SERVER), env, onProgress);
  return { server, sqlTool: await resolveBinary(specOf(SQL_TOOL), env, onProgress) };
}
