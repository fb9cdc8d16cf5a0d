import { SingleFlight } from './single-flight.js';

function setUp() {
  const flights = new SingleFlight<string>();
  const begun: { resolve: (text: string) => void; reject: (error: Error) => void }[] = [];
  const ask = (key: string): Promise<string> =>
    flights.join(key, () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      begun.push({ resolve, reject });
      return promise;
    });
  return { begun, ask };
}

it('answers equal questions with one piece of work, and others with their own', async () => {
  const { begun, ask } = setUp();
  const answers = [ask('a'), ask('b'), ask('a'), ask('a')];
  expect(begun).toHaveLength(2);
  begun[0]?.resolve('of a');
  begun[1]?.resolve('of b');
  expect(await Promise.all(answers)).toEqual(['of a', 'of b', 'of a', 'of a']);
});

it('works again after the answer, good or bad', async () => {
  const { begun, ask } = setUp();
  const failed = ask('a');
  begun[0]?.reject(new Error('no'));
  await expect(failed).rejects.toThrow('no');
  const again = ask('a');
  begun[1]?.resolve('yes');
  expect(await again).toBe('yes');
  expect(begun).toHaveLength(2);
});
