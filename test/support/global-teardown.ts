/** Ends what global-setup.ts started: no process, no folder, no database is left. */
export default async function run(): Promise<void> {
  await globalThis.toolkeeperTestServer?.stop();
}
