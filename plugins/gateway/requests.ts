import fp from 'fastify-plugin'
import { chatOnly } from '../../services/extensions/chat-only.ts'
import { createCostWatch, type CostWatch } from '../../services/requests/cost-watch.ts'
import {
  createRequestReservations, type RequestReservations
} from '../../services/requests/request-reservation.ts'
import type { Candidate, Catalogue } from '../../services/requests/candidates.ts'
import { createIds } from '../../services/shared/ids.ts'
import { countCostMismatches } from '../../services/operations/observability/metrics/gateway.ts'
import type { UpstreamError } from '../../services/shared/errors.ts'
import { plainCode, providerWords } from '../../services/shared/redact.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The common dependencies of chat, images and videos. */
    requests: {
      catalogue: Catalogue
      openReservation: RequestReservations
      /** Compares the reported cost of a request with the expected one. */
      onReportedCost: CostWatch
      /** Logs a failed call of a provider. */
      onFailure (requestId: string, candidate: Candidate, error: UpstreamError): void
    }
  }
}

/** Provides models, providers, health and holds for the use cases. */
export default fp<{ keepsWords: boolean }>(async (app, { keepsWords }) => {
  const onReportedCost = createCostWatch({
    tolerance: () => app.models.config().usage.costTolerance,
    log: app.log,
    onMismatch: countCostMismatches(app.metrics)
  })
  app.decorate('requests', {
    catalogue: {
      resolve: app.models.resolve,
      provider: app.extensions?.readsChats === true ? chatOnly(app.providers.get) : app.providers.get,
      deployments: app.deployments,
      hintFor: app.models.hintFor
    },
    openReservation: createRequestReservations({
      ledger: app.ledger,
      newId: createIds('hold_'),
      onError: error => app.log.error(error, 'a request could not be booked'),
      onReportedCost
    }),
    onReportedCost,
    onFailure (id, { provider, deployment: { model } }, error) {
      const { kind, sent, details: { status, code, missingUrl } } = error
      const said = { code: plainCode(code), missingUrl, words: keepsWords ? providerWords(error) : undefined }
      app.log.warn({ reqId: id, provider: provider.id, model, kind, sent, status, ...said }, 'a call of a provider failed')
    }
  })
}, { name: 'requests', dependencies: ['models', 'providers', 'extensions', 'deployments', 'ledger', 'metrics'] })
