import type { FastifyPluginAsync } from 'fastify'
import chatCompletions from './chat-completions.ts'
import completions from './completions.ts'
import dashboardBilling from './dashboard-billing.ts'
import imagesGenerations from './images-generations.ts'
import models from './models.ts'
import responses from './responses.ts'
import routingDecisions from './routing-decisions.ts'
import routingFeedback from './routing-feedback.ts'
import refuseUnsupported from './unsupported.ts'
import createVideo from './videos.ts'

/** Everything under `/v1`: each endpoint wants a key; that a path is not served is said without one. */
const v1: FastifyPluginAsync = async app => {
  await app.register(async keyed => {
    keyed.addHook('onRoute', route => {
      route.schema = { tags: ['Models'], security: [{ key: [] }], ...route.schema }
    })
    keyed.addHook('onRequest', keyed.shedLoad)
    keyed.addHook('onRequest', keyed.authenticate)
    keyed.addHook('onRequest', keyed.keepShare)
    await keyed.register(async working => {
      working.addHook('preHandler', working.keepLimits)
      await working.register(chatCompletions)
      await working.register(completions)
      await working.register(responses)
      await working.register(imagesGenerations)
      await working.register(createVideo)
    })
    await keyed.register(models)
    await keyed.register(dashboardBilling)
    await keyed.register(routingDecisions)
    await keyed.register(routingFeedback)
  })
  await app.register(refuseUnsupported)
}

export default v1
