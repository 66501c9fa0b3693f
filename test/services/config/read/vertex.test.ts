import t from 'tap'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import { ConfigError } from '../../../../services/config/config-error.ts'
import { thrown } from '../../../helpers/thrown.ts'

const env = { GOOGLE_APPLICATION_CREDENTIALS: '/run/key.json' }

function providerOf (fields: string) {
  return parseConfig(`environment_providers: false\nproviders: [{ ${fields} }]`, env).providers[0]
}

t.test('Vertex AI needs a project; its region decides the address, and the environment names the credentials', async t => {
  t.match(providerOf('id: vertex, project: acme'), {
    protocol: 'vertex',
    region: 'global',
    baseUrl: 'https://aiplatform.googleapis.com',
    credentials: '/run/key.json',
    apiKey: null
  })
  const hosts = [['us-east5', 'us-east5-aiplatform.googleapis.com'], ['us', 'aiplatform.us.rep.googleapis.com']] as const
  for (const [region, host] of hosts) {
    t.match(providerOf(`id: mine, protocol: vertex, project: acme, region: ${region}`), { baseUrl: `https://${host}` })
    t.match(providerOf(`id: mine, dialect: vertex, project: acme, region: ${region}`), {
      protocol: 'openai', baseUrl: `https://${host}`
    })
  }
  t.match(providerOf('id: vertex, project: acme, credentials: /mine.json, base_url: "http://proxy/google/"'), {
    baseUrl: 'http://proxy/google', credentials: '/mine.json'
  })
})

t.test('a proxy of the endpoint in OpenAI\'s format may have a key', async t => {
  t.match(providerOf('id: mine, dialect: vertex, base_url: "http://proxy/v1", api_key: k'), { apiKey: 'k', baseUrl: 'http://proxy/v1' })
})

t.test('missing and meaningless keys are reported', async t => {
  const cases: [string, RegExp][] = [
    ['id: vertex', /providers\[0\]\.project: is missing, e\.g\. project: \$\{GOOGLE_CLOUD_PROJECT\}/],
    ['id: vertex, project: acme, api_key: k', /api_key: has no meaning here; set credentials/],
    ['id: openai, api_key: k, project: acme', /project: only has a meaning for Vertex AI/],
    ['id: openai, api_key: k, bucket: "gs://acme"', /bucket: only has a meaning for Vertex AI/],
    ['id: it, protocol: sandbox, credentials: x', /credentials: has no meaning for the sandbox/],
    ['id: vertex, project: acme, bucket: "s3://acme"', /bucket: /],
    ['id: vertex, project: acme, region: "Europe West"', /region: /]
  ]
  for (const [fields, message] of cases) {
    const error = thrown(() => providerOf(fields))
    t.ok(error instanceof ConfigError)
    t.match(String(error), message, fields)
  }
})
