import fp from 'fastify-plugin'
import { readBody } from '../../services/http/read-body.ts'
import { readForm, type FormPart } from '../../services/http/read-form.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Lets the routes of a scope accept `multipart/form-data`; `toBody` makes the body to validate. */
    takeForms (scope: FastifyInstance, toBody: (parts: readonly FormPart[]) => unknown): void
  }
}

/** Parses forms, with the bounds of all other bodies. */
export default fp<{ idleMs?: number }>(async (app, { idleMs = 30_000 }) => {
  app.decorate('takeForms', (scope, toBody) => {
    scope.addContentTypeParser('multipart/form-data', (request, _payload, done) => {
      const limitBytes = request.routeOptions.bodyLimit
      const parse = async (body: Buffer): Promise<unknown> => {
        // The parsed files take more memory than their bytes.
        request.takeBytes(body.length)
        return toBody(await readForm(body, request.headers['content-type'] ?? ''))
      }
      const rules = { limitBytes, idleMs, take: (bytes: number) => request.takeBytes(bytes) }
      readBody(request.raw, rules, (error, body) => {
        if (body === undefined) return done(error)
        request.inBodyTurn(async () => await parse(body).then(value => done(null, value), done))
      })
    })
  })
}, { name: 'form-body', dependencies: ['overload'] })
