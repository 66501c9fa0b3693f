import fp from 'fastify-plugin'
import { createSecretBox, type SecretBox, type SecretKeys } from '../../services/store/secret-box.ts'
import { resealSecrets } from '../../services/store/secrets.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Encrypts the secrets of the database. */
    secretBox: SecretBox
  }
}

/** Encrypts the secrets of the database; start-up fails if the key of one is missing. */
export default fp<SecretKeys>(async (app, keys) => {
  const box = createSecretBox(keys)
  await resealSecrets(app.store, box)
  app.decorate('secretBox', box)
}, { name: 'secrets', dependencies: ['store'] })
