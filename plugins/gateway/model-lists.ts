import fp from 'fastify-plugin'
import { createModelLists, type ModelLists } from '../../services/models/model-lists.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The models and policies that a key may use, as its list shows them. */
    modelLists: ModelLists
  }
}

/** Lists the models of keys. */
export default fp(async app => {
  app.decorate('modelLists', createModelLists({
    models: app.models,
    inReach (policy, mayUse) {
      const chat = app.router.inReach(policy, mayUse)
      if (chat.length > 0) return chat
      return app.models.resolveVideos(policy).map(({ model }) => model).filter(({ id }) => mayUse(id))
    }
  }))
}, { name: 'model-lists', dependencies: ['models', 'routing'] })
