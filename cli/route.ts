import { readFileSync } from 'node:fs'
import { InvalidArgumentError, type Command } from 'commander'
import type { ChatCompletionRequest } from '../schemas/openai/chat-completions.ts'
import type { RoutingDecision } from '../schemas/openai/routing.ts'
import type { Administration } from '../services/admin/administration.ts'
import type { FeedbackTraining } from '../services/admin/routing-feedback.ts'
import type { Column } from '../services/admin/format/columns.ts'
import { toTable } from '../services/admin/format/table.ts'
import { parseList, withJson } from './options.ts'
import type { JsonOption, Session } from './session.ts'

interface ExplainOptions extends JsonOption {
  policy: string, body?: ChatCompletionRequest, candidates?: string[]
}

/** Adds `route explain` and `route train`. */
export function addRouteCommands (program: Command, session: Session, env: NodeJS.ProcessEnv): void {
  const route = program.command('route').description('inspect how `auto` chooses a model')

  withJson(route.command('explain [text]'))
    .description('show which model a request would be routed to, and why; calls no provider')
    .option('--policy <policy>', 'auto, auto:cost, auto:quality, auto:speed, or a policy of your configuration', 'auto')
    .option('--body <file>', 'read a chat completion request as JSON from a file, or from standard input with -', readBody)
    .option('--candidates <models>', 'comma-separated models to choose from', parseList)
    .action(async (text: string | undefined, given: ExplainOptions, command: Command) => {
      const { policy, body, candidates, ...options } = given
      if (body === undefined && text === undefined) command.error('give a text or --body')
      const request = { ...body ?? { messages: [{ role: 'user' as const, content: text ?? '' }] }, model: policy }
      // Loaded here, because no other command needs the configuration and the router.
      const { explainRoute } = await import('../services/admin/routing.ts')
      await session.show(options,
        ({ store }) => explainRoute(request, candidates ?? null, env, store), report)
    })

  withJson(route.command('train'))
    .description('learn corrections from feedback; prints the error on held-back feedback before and after')
    .option('--apply', 'apply the corrections on all gateways of this database')
    .action(async ({ apply = false, ...options }: JsonOption & { apply?: boolean }) => {
      const { trainOnFeedback } = await import('../services/admin/routing-feedback.ts')
      const train = (administration: Administration) =>
        trainOnFeedback(administration, apply, administration.store.clock())
      await session.show(options, train, trainingReport)
    })
}

function readBody (file: string): ChatCompletionRequest {
  try {
    return JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'))
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

function report (decision: RoutingDecision): string {
  const { model, policy, reason, confidence, domain, candidates, weights_version: weights, us } = decision
  const head = model === ''
    ? `${policy}: no model qualifies`
    : `${policy} → ${model} (${reason}, confidence ${confidence}, domain ${domain}, weights ${weights}, ${us} µs)`
  return `${head}\n\n${toTable(candidateColumns, candidates)}`
}

const candidateColumns: Column<RoutingDecision['candidates'][number]>[] = [
  { name: 'model', cell: ({ model }) => model },
  { name: 'quality', numeric: true, cell: ({ quality }) => quality?.toFixed(3) ?? '' },
  { name: 'cost', numeric: true, cell: ({ cost_usd: cost }) => cost?.toFixed(6) ?? '' },
  { name: 'ms', numeric: true, cell: ({ latency_ms: ms }) => ms?.toFixed(0) ?? '' },
  { name: 'score', numeric: true, cell: ({ score }) => score?.toFixed(3) ?? '' },
  { name: 'excluded by', cell: ({ excluded_by: constraint }) => constraint ?? '' }
]

function trainingReport (training: FeedbackTraining): string {
  const { learned_from: count, held_back: heldBack, before, after, offsets, applied } = training
  const errors = [{ name: 'before', ...before }, { name: 'after', ...after }]
  const end = applied ? 'Applied.' : 'Not applied; add --apply to do so.'
  return `Learned from ${count} scores. The error on ${heldBack} scores held back:\n\n${toTable(errorColumns, errors)}\n` +
    `${toTable(offsetColumns, offsets)}\n${end}\n`
}

const errorColumns: Column<FeedbackTraining['before'] & { name: string }>[] = [
  { name: '', cell: ({ name }) => name },
  { name: 'squared error', numeric: true, cell: ({ squared }) => squared.toFixed(4) },
  { name: 'log loss', numeric: true, cell: ({ log_loss: logLoss }) => logLoss.toFixed(4) }
]

const offsetColumns: Column<FeedbackTraining['offsets'][number]>[] = [
  { name: 'model', cell: ({ model }) => model },
  { name: 'domain', cell: ({ domain }) => domain },
  { name: 'scores', numeric: true, cell: ({ scores }) => String(scores) },
  { name: 'log-odds', numeric: true, cell: ({ log_odds: logOdds }) => logOdds.toFixed(3) }
]
