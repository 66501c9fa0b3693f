import { Worker } from 'node:worker_threads'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** The page that shows the OpenAPI document, and its script. Made on the first call. */
    reference (): Promise<Reference>
  }
}

export interface Reference {
  page: string
  /** JavaScript, compressed with gzip. */
  script: Uint8Array
}

/**
 * Offers the reference page. The library that makes it has megabytes, whose reading would hold up every
 * stream: a thread of its own does that and ends.
 */
export default fp(async app => {
  let made: Promise<Reference> | undefined
  app.decorate('reference', () => {
    made ??= make().catch(error => {
      made = undefined
      throw error
    })
    return made
  })
}, { name: 'reference' })

async function make (): Promise<Reference> {
  const { promise, resolve, reject } = Promise.withResolvers<Reference>()
  const worker = new Worker(new URL('reference-worker.ts', import.meta.url))
  worker.once('message', resolve).once('error', reject)
  worker.once('exit', code => reject(new Error(`The thread that makes the reference page ended with ${code}.`)))
  worker.unref()
  return await promise
}
