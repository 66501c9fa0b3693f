/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */
import { Type, type Static } from '@sinclair/typebox'
import { Entra, type EntraConfig } from './entra.ts'
import { dialectNames, protocolNames } from './known-providers.ts'
import type { ScriptFile } from './script.ts'
import { count, flag, milliseconds, oneOf, strict, type Known, type Parsed } from './fields.ts'

const Timeouts = Type.Object({
  connect_ms: milliseconds('To establish a connection.', 5_000),
  first_byte_ms: milliseconds('From the request to the first byte of a stream, or of a response that needs no ' +
    'generation, such as the state of a job. The first byte of other responses arrives when they are finished, so only ' +
    '`total_ms` applies.', 120_000),
  idle_ms: milliseconds('Longest silence within a response.', 60_000),
  // A little more than the 600 s that the SDKs of OpenAI and Anthropic wait.
  total_ms: milliseconds('The whole call. Streams may take longer: `idle_ms` ends a silent one, and ' +
    '`requests.stream_ms` any.', 660_000)
}, { ...strict, default: {}, description: 'Timeouts of one call, in milliseconds.' })
export type TimeoutsMs = Parsed<typeof Timeouts>

/** `aws` of a provider. */
const AwsEntry = Type.Object({
  access_key_id: Type.Optional(Type.String({
    minLength: 1, maxLength: 128, description: 'Static keys: use `${NAME}`. Default: the AWS credential provider chain.'
  })),
  secret_access_key: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'With `access_key_id`.' })),
  session_token: Type.Optional(Type.String({
    minLength: 1, maxLength: 16_384, description: 'With temporary keys.'
  })),
  profile: Type.Optional(Type.String({
    minLength: 1, maxLength: 256, description: 'Profile of the shared AWS files. Default: `AWS_PROFILE`, else `default`.'
  })),
  role_arn: Type.Optional(Type.String({
    pattern: '^(arn:|.*\\$\\{)', maxLength: 2048, description: 'A role to assume with these credentials.'
  })),
  external_id: Type.Optional(Type.String({
    minLength: 2, maxLength: 1224, description: 'The external id that the role demands.'
  })),
  guardrail: Type.Optional(Type.String({
    minLength: 1, maxLength: 2048, description: 'Id or ARN of a guardrail for every chat.'
  })),
  guardrail_version: Type.Optional(Type.String({
    pattern: '^([1-9][0-9]{0,7}|DRAFT)$', description: 'Default: `DRAFT`.'
  })),
  bucket: Type.Optional(Type.String({
    pattern: '^(s3://|.*\\$\\{)', maxLength: 512, description: 'Where videos are written, e.g. `s3://my-bucket/videos`.'
  })),
  arns: Type.Optional(Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 256 }), {
    maxProperties: 1000,
    description: 'The foundation model behind each ARN of an application inference profile or of provisioned throughput.'
  }))
}, { ...strict, description: 'Only for the protocol `bedrock`.' })
export type AwsOptions = Parsed<typeof AwsEntry>

/** The name of a protocol that a plugin brings. */
const ownProtocol = Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' })

/** One item of `providers`. */
export const ProviderEntry = Type.Object({
  id: Type.String({
    pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
    description: 'Name of the provider: lower-case letters, digits, `.`, `_` and `-`. ' +
      'Clients can request any of its models as `<id>/<model>`.',
    examples: ['openai']
  }),
  protocol: Type.Optional(Type.Union([...protocolNames.map(name => Type.Literal(name)), ownProtocol], {
    description: '`openai` is for any OpenAI-compatible server, `anthropic` for the Messages API, `gemini` for the ' +
      'Gemini API, `vertex` for Google\'s Vertex AI, `bedrock` for Amazon Bedrock. `sandbox` is built in, for ' +
      'trials and tests; it adds the models `sandbox-chat`, `sandbox-image` and ' +
      '`sandbox-video`. All others generate images or videos; a plugin may bring more. Default: by the ' +
      'id if it is in the catalogue, else `openai`.'
  })),
  dialect: Type.Optional(oneOf(dialectNames, {
    description: 'Which OpenAI-compatible server this is. Default: by the id if it is in the catalogue, else `compatible`.'
  })),
  base_url: Type.Optional(Type.String({
    pattern: '^(https?://|.*\\$\\{)',
    maxLength: 2048,
    description: 'Base URL of the API, including its version; of Vertex AI without. Default: by the id or dialect.',
    examples: ['https://api.openai.com/v1']
  })),
  api_key: Type.Optional(Type.String({
    minLength: 1,
    maxLength: 16_384,
    description: "The provider's API key. Keep it out of this file: write `${NAME}`.",
    examples: ['${OPENAI_API_KEY}']
  })),
  entra: Type.Optional(Entra),
  api_version: Type.Optional(Type.String({
    pattern: '^(\\d{4}-\\d{2}-\\d{2}(-preview)?|.*\\$\\{.*)$',
    description: 'Azure only: a version with a date, whose addresses name the deployment. Default: `v1`.',
    examples: ['2024-10-21']
  })),
  region: Type.Optional(Type.String({
    pattern: '^([a-z0-9-]{2,40}|.*\\$\\{.*)$',
    description: 'Where the provider processes requests, in its own or your words; `regions` of a policy or an API key ' +
      'name the regions to use. Vertex AI is called there, `global` by default; Amazon Bedrock needs it.',
    examples: ['europe-west4']
  })),
  project: Type.Optional(Type.String({
    pattern: '^([a-z0-9.:-]{1,100}|.*\\$\\{.*)$',
    description: 'Vertex AI only: the project of Google Cloud.',
    examples: ['acme-prod']
  })),
  credentials: Type.Optional(Type.String({
    minLength: 1,
    maxLength: 32_768,
    description: 'Vertex AI only: path of a file with credentials of Google Cloud, or their JSON: a service account, a user, ' +
      'workload identity federation or impersonation. Default: GOOGLE_APPLICATION_CREDENTIALS, else those of `gcloud auth ' +
      'application-default login`, else the identity of the machine.',
    examples: ['/run/secrets/google.json']
  })),
  bucket: Type.Optional(Type.String({
    pattern: '^(gs://[a-z0-9._-]{3,222}(/[^\\s?#]*)?|.*\\$\\{.*)$',
    description: 'Vertex AI only: where videos are written, from where the gateway fetches them. Default: they are part of ' +
      'the response.',
    examples: ['gs://acme-videos/tollgate']
  })),
  aws: Type.Optional(AwsEntry),
  headers: Type.Record(Type.String(), Type.String({ maxLength: 16_384 }), {
    maxProperties: 64, default: {}, description: 'Additional headers of every request.'
  }),
  timeouts: Timeouts,
  max_connections: count(
    // Each running stream uses one: enough for a busy process, yet a provider survives a runaway one.
    'Most connections to this provider. Each carries one request; further requests wait.', 1, 100_000, 1024),
  claims: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
    maxItems: 1000,
    description: 'Names of models, `*` for any text, that this provider serves if no configured model has that id. ' +
      'Default: those of the catalogue for this id.',
    examples: [['gpt-*', 'o3*']]
  })),
  allow_fields: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    maxItems: 64,
    description: 'Request fields to pass on although they change the price. Their additional cost is not ' +
      'charged to the client.',
    examples: [['provider']]
  })),
  responses: Type.Optional(oneOf(['auto', 'off'], {
    description: 'Whether requests to `/v1/responses` go to the Responses API of this provider where its dialect has ' +
      'one (`auto`, the default) or are translated to chat (`off`).'
  })),
  on_disconnect: Type.Optional(oneOf(['finish', 'stop'], {
    description: 'What this server does if the connection of a call without a stream is closed: it finishes and ' +
      'charges for it (`finish`), so the gateway waits for the response after its client has disconnected, or it stops ' +
      '(`stop`), so the gateway closes the call. Default: `stop` for the dialects `compatible`, `vllm`, `sglang`, ' +
      '`llamacpp`, `ollama` and `lmstudio`, else `finish`.'
  })),
  discover: flag("Whether to fetch the provider's list of models and offer them as `<provider>/<model>`.", false),
  script: Type.Optional(Type.String({
    minLength: 1,
    maxLength: 4096,
    description: 'File with a script that the provider plays instead of calling a server, for tests: YAML as in ' +
      'docs/testing-your-app.md.',
    examples: ['./script.yaml']
  })),
  video_ms: Type.Optional(count('Sandbox only: how long a video takes, in milliseconds. Default: 5000.', 0, 600_000))
}, { ...strict, description: 'A server that runs models.' })
export type ProviderEntry = Static<typeof ProviderEntry>

type Fields = Known<Parsed<typeof ProviderEntry>, 'protocol' | 'baseUrl' | 'claims'>
type Optional =
  'videoMs' | 'allowFields' | 'responses' | 'onDisconnect' | 'region' | 'project' | 'credentials' | 'bucket' |
  'apiVersion' | 'aws'

/** With the defaults of the catalogue. `baseUrl` has no trailing slash; it is empty for the sandbox. */
export interface ProviderConfig extends Omit<Fields, 'dialect' | 'entra' | 'script' | Optional>, Partial<Pick<Fields, Optional>> {
  /** Name of a row in services/providers/openai/dialects.ts; only for the protocol `openai`. */
  dialect: string
  /** In place of `apiKey`. */
  entra?: EntraConfig | null
  /** What it plays instead of calling a server; null: it calls one. */
  script?: ScriptFile | null
}
