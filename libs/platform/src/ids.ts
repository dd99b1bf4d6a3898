import { randomBytes as nodeRandomBytes } from 'node:crypto';
import { base32 } from '#events/envelope';

/** 26 characters at 5 bits each need 130 bits; whole bytes make it 136. */
const ID_BYTES = 17;
const ID_CHARACTERS = 26;

/** An id nobody can guess: 26 characters of lower-case base32 with 130 random bits (fallback 1.1: at least 120). */
export function randomId(): string {
  return base32(nodeRandomBytes(ID_BYTES), ID_CHARACTERS);
}

/** `length` bytes from the operating system's generator: for keys and nonces. */
export function randomBytes(length: number): Uint8Array {
  return nodeRandomBytes(length);
}

/** A number in [0, 1) that nobody has to guess: for pauses that should not all end at once. */
export function chance(): number {
  return nodeRandomBytes(4).readUInt32BE() / 2 ** 32;
}
