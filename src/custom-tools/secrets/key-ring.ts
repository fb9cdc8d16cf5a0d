import { createHmac, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { secretKeysIn } from '../../config/secret-keys.js';

export interface SecretKey {
  /** Tells keys apart without telling the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** The key file cannot be used; the message says why and what to do. */
export class KeyFileError extends Error {
  override readonly name = 'KeyFileError';
}

/**
 * The keys of this server: those of SECRETS_KEY, then those of the key file. The first one encrypts. Where there is
 * none, a key file is made at the first need, so that a server without secrets has no key to lose.
 */
export class KeyRing {
  private readonly keys: SecretKey[];
  private fileRead = false;

  /**
   * @param given 32 bytes each
   * @throws KeyFileError when there is a key file that holds no key
   */
  constructor(
    given: readonly Buffer[],
    private readonly keyFile: string,
  ) {
    this.keys = given.map(named);
    this.readFile();
  }

  /**
   * The key that encrypts.
   * @throws KeyFileError when there is no key and none can be kept
   */
  primary(): SecretKey {
    if (this.keys.length === 0) this.makeFile();
    return this.keys[0] as SecretKey;
  }

  find(id: string): SecretKey | undefined {
    // Another server on the same folder may have made the file meanwhile.
    if (!this.fileRead && !this.keys.some((key) => key.id === id)) this.readFile();
    return this.keys.find((key) => key.id === id);
  }

  private makeFile(): void {
    try {
      mkdirSync(dirname(this.keyFile), { recursive: true });
      this.writeNewFile(`${randomBytes(32).toString('base64')}\n`);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new KeyFileError(
        `no key: SECRETS_KEY is not set and ${this.keyFile} cannot be written (${code})`,
      );
    }
    this.readFile();
  }

  /** Whole or not at all; a file that another server has just made stays. */
  private writeNewFile(text: string): void {
    const draft = `${this.keyFile}.${randomBytes(6).toString('hex')}`;
    try {
      writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
      if (!existsSync(this.keyFile)) linkSync(draft, this.keyFile);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }

  private readFile(): void {
    let text: string;
    try {
      text = readFileSync(this.keyFile, 'utf8');
      if ((statSync(this.keyFile).mode & 0o077) !== 0) chmodSync(this.keyFile, 0o600);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A path below a file holds no file either.
      if (code === 'ENOENT' || code === 'ENOTDIR') return;
      throw new KeyFileError(`The key file ${this.keyFile} cannot be read, or not be made private (${code})`);
    }
    const keys = secretKeysIn(text);
    if (!keys) {
      throw new KeyFileError(
        `The key file ${this.keyFile} holds no key of 32 bytes: put it back, or remove it`,
      );
    }
    this.fileRead = true;
    this.keys.push(...keys.map(named));
  }
}

function named(bytes: Buffer): SecretKey {
  const id = createHmac('sha256', bytes).update('toolkeeper key id').digest('hex').slice(0, 16);
  return { id, bytes };
}
