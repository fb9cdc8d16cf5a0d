import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { KeyFileError, makeKeyFile, readKeyFile } from './key-file.js';
import { secretKeysIn } from './setting.js';

/** A key that encrypts secrets. */
interface SecretKey {
  /** Identifies the key without revealing it. */
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * The keys of this server: those of SECRETS_KEY, then those of the key file. The first one encrypts. If there is none, a key
 * file is made when a key is first needed, so that a server without secrets has no key to lose.
 */
export class KeyRing {
  private readonly keys: SecretKey[];
  /** Whether the key file was read. */
  private isFileRead = false;

  /** @param given 32 bytes each @throws KeyFileError if there is a key file that holds no key */
  constructor(
    given: readonly Buffer[],
    private readonly keyFile: string,
  ) {
    this.keys = given.map(withId);
    this.readFile();
  }

  /** The key that encrypts. @throws KeyFileError if there is no key and none can be stored */
  primary(): SecretKey {
    if (this.keys.length === 0) this.makeFile();
    return this.keys[0] as SecretKey;
  }

  /** The key with this id. @throws KeyFileError if the key file holds no key */
  find(id: string): SecretKey | undefined {
    // Another server with the same folder may have just made the file.
    if (!this.isFileRead && !this.keys.some((key) => key.id === id)) this.readFile();
    return this.keys.find((key) => key.id === id);
  }

  private makeFile(): void {
    try {
      makeKeyFile(this.keyFile, `${randomBytes(32).toString('base64')}\n`);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new KeyFileError(
        `no key: SECRETS_KEY is not set and ${this.keyFile} cannot be written (${code})`,
      );
    }
    this.readFile();
  }

  private readFile(): void {
    const text = readKeyFile(this.keyFile);
    if (text === undefined) return;
    const keys = secretKeysIn(text);
    if (!keys) {
      throw new KeyFileError(
        `The key file ${this.keyFile} holds no key of 32 bytes: put it back, or remove it`,
      );
    }
    this.isFileRead = true;
    this.keys.push(...keys.map(withId));
  }
}

/** A key with its id, which is derived from its bytes. */
function withId(bytes: Buffer): SecretKey {
  const id = createHmac('sha256', bytes).update('toolkeeper key id').digest('hex').slice(0, 16);
  return { id, bytes };
}

/** Lengths of the parts of a sealed value: key id, nonce, encrypted text, tag (AES-256-GCM). */
const idBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts values that clients or other replicas carry for a while. Each purpose has its own key. */
export class SealedValues {
  constructor(
    private readonly keys: KeyRing,
    private readonly purpose: string,
  ) {}

  /** Encrypts a value. @throws KeyFileError if there is no key and none can be stored */
  seal(value: object): string {
    const { id, bytes } = this.keys.primary();
    const keyId = Buffer.from(id, 'hex');
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.derived(bytes), nonce).setAAD(keyId);
    const text = [cipher.update(JSON.stringify(value), 'utf8'), cipher.final()];
    return Buffer.concat([keyId, nonce, ...text, cipher.getAuthTag()]).toString('base64url');
  }

  /** Decrypts a value; undefined if it was altered, has another purpose, or its key was removed. */
  open(sealed: string): unknown {
    const all = Buffer.from(sealed, 'base64url');
    const id = all.subarray(0, idBytes);
    const key = this.keys.find(id.toString('hex'));
    // A different text that decodes to the same bytes counts as altered, too.
    if (!key || all.toString('base64url') !== sealed || all.length < idBytes + nonceBytes + tagBytes)
      return undefined;
    try {
      const nonce = all.subarray(idBytes, idBytes + nonceBytes);
      const options = { authTagLength: tagBytes };
      const decipher = createDecipheriv('aes-256-gcm', this.derived(key.bytes), nonce, options).setAAD(id);
      decipher.setAuthTag(all.subarray(-tagBytes));
      const text = decipher.update(all.subarray(idBytes + nonceBytes, -tagBytes));
      return JSON.parse(Buffer.concat([text, decipher.final()]).toString('utf8'));
    } catch {
      return undefined;
    }
  }

  /** The key for this purpose. */
  private derived(bytes: Buffer): Buffer {
    return Buffer.from(hkdfSync('sha256', bytes, '', `toolkeeper ${this.purpose}`, 32));
  }
}
