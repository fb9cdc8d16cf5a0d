import { heldTick } from './held-tick.js';

it('is a tick of the engine, and one that has run', () => {
  expect(heldTick).toMatchObject({ callback: expect.any(Function) });
});
