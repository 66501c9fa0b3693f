import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { readBody } from '../../services/http/read-body.ts'
import { JsonText, largeBytes } from '../../services/shared/json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as received, if there was one. */
    jsonText: JsonText
  }
}

interface JsonBodyOptions {
  /** Most bytes of a body of each kind; the kind of a route is in its `config`. */
  limits: BodyLimits
  /** The longest time without a byte. */
  idleMs?: number
}

/** Kinds of bodies: with images and audio, with long texts, and with a few fields. */
export interface BodyLimits { media: number, text: number, fields: number }

/** Approximate bytes per unit of `JsonText.cost`. */
const bytesPerCost = 4

/** Parses JSON bodies and keeps their text, so that it can be forwarded unchanged. */
export default fp<JsonBodyOptions>(async (app, { limits, idleMs = 30_000 }) => {
  app.decorateRequest('jsonText')
  app.removeAllContentTypeParsers()
  app.addHook('onRoute', route => { route.bodyLimit ??= limits[route.config?.body ?? 'fields'] })
  app.addContentTypeParser('application/json', (request, _payload, done) => {
    const { bodyLimit: limitBytes, schema } = request.routeOptions
    const needsBody = Reflect.has(Object(schema?.body), 'required')
    readBody(request.raw, { limitBytes, idleMs, take: bytes => request.takeBytes(bytes) }, (error, body) => {
      if (body === undefined) return done(error)
      // Some clients send the content type with every request.
      if (body.length === 0 && !needsBody) return done(null)
      if (body.length < largeBytes) return parse(request, body, done)
      request.inBodyTurn(async () => parse(request, body, (error, value) => {
        // Parsing has taken long enough: the work on the value has a turn of its own.
        setImmediate(done, error, value)
      }))
    })
  })
}, { name: 'json-body', dependencies: ['overload'] })

function parse (
  request: FastifyRequest, body: Buffer, done: (error: Error | null, value?: unknown) => void
): void {
  try {
    const text = JsonText.parse(body)
    request.takeBytes(text.cost * bytesPerCost)
    request.jsonText = text
    done(null, text.value)
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)))
  }
}
