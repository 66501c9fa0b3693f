import { Type } from '@sinclair/typebox'
import { count, dayMs, flag, milliseconds, strict, type Parsed } from './fields.ts'

/** `requests` of the file. */
export const RequestsEntry = Type.Object({
  // A little more than the 600 s that the SDKs of OpenAI and Anthropic wait.
  deadline_ms: milliseconds('Time limit of a request, with all its attempts, until its response is complete or its ' +
    'stream has begun. Clients may set a shorter one with the header `x-tollgate-deadline-ms`.', 660_000),
  stream_ms: milliseconds('How long a stream may take from the request to its last event. A client\'s ' +
    '`x-tollgate-deadline-ms` ends it earlier. On Postgres, money that a node held when it was killed is free again ' +
    'after this time.', 1_800_000),
  retries: count('How often each deployment is retried before anything is sent to the client, after all others ' +
    'have been tried. Clients that retry themselves get fewer retries.', 0, 10, 3),
  backoff_ms: milliseconds('Wait before the first retry of a deployment; doubles each time, with jitter.', 250),
  max_retry_after_ms: milliseconds('A deployment that requests a longer wait is not retried: the client gets the ' +
    '`retry-after`.', 2_000),
  retry_unsure: flag('Whether to retry requests that the provider may have processed and may charge for.', true),
  hedge_after_ms: Type.Optional(milliseconds('How long to wait for a deployment before a second one of the same ' +
    'price is called as well. The first response counts; both providers may charge. Default: never.')),
  allow_dearer_fallbacks: flag('Whether a fallback may cost more than the requested model.', false),
  charge_broken_streams: flag('Whether a stream that the provider or the gateway breaks off is charged by an estimate ' +
    'of the delivered part; otherwise it is free unless the provider counted all of it.', true),
  keep_alive: flag('Whether a client that waits for a whole response gets status 200 and a blank after 10 s, and then a ' +
    'blank after every 15 s, so that proxies keep the connection open. A later failure is then an error in the body. ' +
    'Clients may choose with the header `x-tollgate-keep-alive`: `on` or `off`.', false),
  strict_tools: flag('Whether a request is refused that offers a tool which the model cannot run, such as a web search ' +
    'without a price. Otherwise the tool is left out, and named in `x-tollgate-dropped-params`.', false)
}, { ...strict, default: {}, description: 'Retries, fallbacks and time limits.' })
export type RequestsConfig = Parsed<typeof RequestsEntry>

/** `breaker` of the file. */
export const BreakerEntry = Type.Object({
  failures: count('Failed requests in a row that open the circuit breaker. If several keys use the deployment, at least ' +
    'half of them must be of other keys than the one that fails most.', 1, 1000, 10),
  error_rate: Type.Number({
    minimum: 0.01, maximum: 1, default: 0.5, description: 'Share of failed calls in a window that opens it.'
  }),
  min_requests: count('Calls in a window before the error rate counts.', 1, 1_000_000, 50),
  window_ms: milliseconds('Length of the window.', 30_000),
  open_ms: milliseconds('How long it stays open before it lets one request through; doubles each time, up to a ' +
    'minute.', 5_000),
  slow_factor: Type.Number({
    minimum: 1.5,
    maximum: 1000,
    default: 5,
    description: 'A response that takes this many times as long as usual for its deployment is slow. After `failures` ' +
      'slow responses in a row, other deployments are preferred.'
  }),
  slow_min_ms: milliseconds('A response that starts sooner is never slow.', 2_000),
  probe_every_ms: Type.Optional(Type.Integer({
    minimum: 100,
    maximum: dayMs,
    description: 'How often to list the models of providers, to see whether they are reachable. Default: never; ' +
      'only requests decide.'
  }))
}, { ...strict, default: {}, description: 'When calls to a failing deployment stop.' })
export type BreakerConfig = Parsed<typeof BreakerEntry>
