/** Does something with each item, so many at a time; `act` must not throw. @param stopped ends it early */
export async function inParallel<T>(
  items: readonly T[],
  concurrency: number,
  act: (item: T) => Promise<void>,
  stopped: () => boolean = () => false,
): Promise<void> {
  const queue = [...items];
  const work = async (): Promise<void> => {
    while (queue.length > 0 && !stopped()) await act(queue.shift()!);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}
