import type { FastifyInstance } from 'fastify'
import { unknownUrl } from '../../services/http/to-gateway-error.ts'
import files, { type ConsoleFilesOptions } from './files.ts'
import session from './session.ts'
import signIn from './sign-in.ts'

/** Everything under `/console`. */
export default async function consoleRoutes (
  app: FastifyInstance, { publicBaseUrl }: ConsoleFilesOptions
): Promise<void> {
  app.addHook('onRequest', async ({ method, url }) => {
    if (!app.models.config().console.enabled) throw unknownUrl(method, url.split('?', 1)[0] ?? '')
  })
  await app.register(session)
  await app.register(signIn)
  await app.register(files, { publicBaseUrl })
}
