import { type AppConfig, ConfigurationError } from '../config/app-config.js';

/**
 * Registering a tool is running code: a server that others can reach does not start without a key by accident.
 * @throws ConfigurationError naming both ways out
 */
export function assertSafeToExpose({ auth, server }: Pick<AppConfig, 'auth' | 'server'>): void {
  if (server.loopback || auth.adminKey || auth.mode === 'off') return;
  throw new ConfigurationError(
    `HOST=${server.host} can be reached from other machines, and whoever reaches it may run code: ` +
      'set ADMIN_API_KEY (16 characters or more), or AUTH_MODE=off if something in front of the server asks for a key.',
  );
}
