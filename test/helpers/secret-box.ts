import { createSecretBox } from '../../services/store/secret-box.ts'

/** Encrypts the secrets of test databases. */
export const secretBox = createSecretBox({ current: 'a key for tests only, of 32 characters', previous: null })
