/** What an HTTP answer holds: a JSON value whose shape the test's assertions tell. */
export type Json = ReturnType<typeof JSON.parse>;
