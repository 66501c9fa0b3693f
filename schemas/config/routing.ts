import { Type } from '@sinclair/typebox'
import { strict, type Parsed } from './fields.ts'

const Shadow = Type.Object({
  share: Type.Number({
    minimum: 0,
    maximum: 0.05,
    default: 0.01,
    description: 'Share of the answers of `auto` that are compared, at most 0.05.'
  }),
  judge: Type.String({
    minLength: 1,
    maxLength: 512,
    description: 'The model that compares two answers: better than those it judges, and of another maker.',
    examples: ['gpt-5']
  }),
  key: Type.String({
    pattern: '^sk-tg-',
    description: 'An API key of this gateway. It pays for the second answer and the judge; its models and its budget bound them.'
  })
}, {
  ...strict,
  description: 'Asks a second model for a sample of the requests to `auto`, and a judge to compare both answers; the ' +
    'scores become routing feedback. It sends prompts of clients to other providers than their answers came from. Default: off.'
})

/** The block `routing`. */
export const RoutingBlock = Type.Object({
  shadow: Type.Optional(Shadow)
}, { ...strict, default: {}, description: 'How `auto` learns from traffic.' })

export type RoutingSettings = Parsed<typeof RoutingBlock>
