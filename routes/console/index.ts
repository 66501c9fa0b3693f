import type { FastifyInstance } from 'fastify'
import files, { type ConsoleFilesOptions } from './files.ts'
import session from './session.ts'
import signIn from './sign-in.ts'

/** Everything under `/console`. */
export default async function consoleRoutes (
  app: FastifyInstance, { publicBaseUrl }: ConsoleFilesOptions
): Promise<void> {
  await app.register(session)
  await app.register(signIn)
  await app.register(files, { publicBaseUrl })
}
