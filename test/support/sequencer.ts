import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** The files that mostly wait for other processes begin first, so that none of them is left alone at the end. */
export default class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      /crashes/.test(moduleId)
        ? 0
        : /attacks-workers|dev\/start/.test(moduleId)
          ? 1
          : moduleId.includes('/e2e/')
            ? 2
            : 3;
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}
