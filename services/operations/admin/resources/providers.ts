import { AdminProviderList, ProviderProbe } from '../../../../schemas/admin/providers.ts'
import { fields, numbers } from '../format/columns.ts'
import { operation } from '../operation.ts'
import { probeProvider } from '../provider-probe.ts'
import { listProviders } from '../providers.ts'

/** The configured providers. */
export const providerOperations = [
  operation('GET /providers', 'read', {
    summary: 'Show the providers with their circuit breakers, recent latencies and failures',
    result: AdminProviderList,
    async run ({ store, host }) {
      await host.flushRequestLog()
      const [config, unpriced] = [await host.config(), host.unpriced()]
      return await listProviders({ store, config, unpriced, deployments: host.deployments })
    },
    command: {
      name: 'providers',
      description: 'list the providers and their calls in the last hour; only a running gateway shows circuit breakers',
      columns: () => [
        ...fields('id', 'protocol'),
        ...numbers('models', 'calls'),
        { name: 'failed', numeric: true, cell: ({ failed_calls: failed }) => String(failed) },
        ...numbers('p50_ms', 'p95_ms'),
        { name: 'last_failure', cell: ({ last_failure: last }) => last === null ? '' : `${last.at} ${last.kind}: ${last.words ?? ''}` }
      ]
    }
  }),
  operation('POST /providers/:id/probe', 'operate', {
    summary: 'List the models of a provider now; on success, the next requests try it again',
    result: ProviderProbe,
    run: ({ actor, store, host }, { id }) => probeProvider({ actor, store, ...host }, id)
  })
]
