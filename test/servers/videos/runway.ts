import { Type } from '@sinclair/typebox'
import { bearerIs, integer, oneOf, optional, imageUrlOrData, statusOf, strict, text, type FakeVideoApi } from './fake-api.ts'

const statuses = {
  queued: 'THROTTLED',
  running: 'RUNNING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  moderated: 'FAILED',
  expired: 'FAILED',
  cancelled: 'CANCELLED'
}

/** Runway's tasks: npm @runwayml/sdk 4.20.1. */
export const runway: FakeVideoApi = {
  protocol: 'runway',
  base: '/v1',
  apiKey: 'key_secret',
  model: 'seedance2',
  isAuthorized: bearerIs('key_secret'),
  submitHeaders: { 'x-runway-version': '2024-11-06' },
  submit: {
    path: /^\/(?:text|image)_to_video$/,
    schema: strict({
      model: text(),
      promptText: Type.String({ minLength: 1, maxLength: 1000 }),
      promptImage: optional(Type.Array(strict({ uri: imageUrlOrData(), position: oneOf('first', 'last') }), { minItems: 1 })),
      duration: optional(integer()),
      ratio: optional(Type.String({ pattern: '^\\d+:\\d+$' })),
      resolution: optional(text()),
      seed: optional(integer()),
      audio: optional(Type.Boolean())
    })
  },
  submitResponse: ({ id }) => ({ body: { id, estimatedCost: { credits: 60 } } }),
  poll: /^\/tasks\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      id,
      createdAt: '2026-11-21T00:00:00Z',
      status: statuses[state],
      ...(state === 'queued' || state === 'running' ? { estimatedCost: { credits: 60 } } : { cost: { credits: 60 } }),
      ...(state === 'running' && { progress: 0.55 }),
      ...(state === 'succeeded' && { output: [video] }),
      ...(state === 'failed' && { failure: 'It broke.', failureCode: 'INTERNAL.BAD_OUTPUT.CODE01' }),
      ...(state === 'moderated' && { failure: 'Not this.', failureCode: 'SAFETY.INPUT.TEXT' })
    }
  }),
  cancel: { method: 'DELETE', path: /^\/tasks\/([^/]+)$/, answer: { status: 204 } },
  errorResponse: (why, message) => ({
    status: statusOf[why],
    body: {
      error: why === 'moderated' ? `The prompt was flagged: ${message}` : message,
      docUrl: 'https://docs.dev.runwayml.com/'
    }
  }),
  priced: { seconds: 'duration', resolution: 'ratio', audio: 'audio' },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated', 'cancelled'],
  frames: { picture: 'any', last: true },
  expected: { seconds: null, costNano: null, progress: 55 }
}
