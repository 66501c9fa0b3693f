import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  createAwsIdentity, openCredentials, type AwsCredentials
} from '../../../../services/providers/bedrock/credentials.ts'
import { createProvider } from '../../../../services/providers/registry.ts'
import { newProvider } from '../../../../services/config/new-provider.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import { Deadlines } from '../../../../services/shared/timers.ts'
import { rejection } from '../../../helpers/thrown.ts'
import { startBedrock } from '../../../servers/bedrock.ts'

const none = parseConfig('providers: [{ id: bedrock, region: eu-west-1, aws: {} }]', {}).providers[0]?.aws ?? null
const signal = new AbortController().signal

/** Sets variables of the environment for one test, without those of the machine. */
function environment (t: Test, variables: Record<string, string>): void {
  const names = Object.keys(process.env).filter(name => name.startsWith('AWS_'))
  const empty = mkdtempSync(join(tmpdir(), 'aws-'))
  const all = {
    AWS_SHARED_CREDENTIALS_FILE: join(empty, 'credentials'),
    AWS_CONFIG_FILE: join(empty, 'config'),
    AWS_EC2_METADATA_DISABLED: 'true',
    ...variables
  }
  const before = { ...process.env }
  for (const name of names) delete process.env[name]
  Object.assign(process.env, all)
  t.teardown(() => {
    for (const name of Object.keys(all)) delete process.env[name]
    Object.assign(process.env, before)
  })
}

/** A server of AWS that gives out credentials: each request gets keys with another number. */
async function startTokenServer (t: Test, answer: (number: number, path: string) => string) {
  let number = 0
  const paths: string[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    paths.push(`${request.method} ${request.url} ${body}`)
    response.end(answer(++number, request.url ?? ''))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths }
}

const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString()
const roleXml = (action: string) => (number: number): string =>
  `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><Credentials>` +
  `<AccessKeyId>ASIA${number}</AccessKeyId><SecretAccessKey>secret${number}</SecretAccessKey>` +
  `<SessionToken>token${number}</SessionToken><Expiration>${inHours(1)}</Expiration>` +
  '</Credentials><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/r/s</Arn>' +
  `<AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser></${action}Result></${action}Response>`

t.test('credentials are shared while they last, renewed before they end, and kept if that fails', async t => {
  let nowMs = 0
  let opened = 0
  const given: (AwsCredentials | null)[] = []
  const identity = createAwsIdentity(async () => {
    opened++
    return async () => given.shift() ?? Promise.reject(new Error('no'))
  }, () => nowMs)
  const until = (accessKeyId: string, ms: number): AwsCredentials =>
    ({ accessKeyId, secretAccessKey: 's', sessionToken: 't', expiration: new Date(ms) })
  given.push(until('a', 600_000))
  const both = await Promise.all([identity.credentials(), identity.credentials()])
  t.same(both.map(({ accessKeyId }) => accessKeyId), ['a', 'a'])
  nowMs = 290_000
  t.equal((await identity.credentials()).accessKeyId, 'a')
  nowMs = 310_000
  t.equal((await identity.credentials()).accessKeyId, 'a', 'the renewal failed, and the old ones last')
  given.push(until('b', 1_200_000))
  t.equal((await identity.credentials()).accessKeyId, 'b')
  t.equal(identity.forget(), true)
  given.push(until('c', 1_200_000))
  t.equal((await identity.credentials()).accessKeyId, 'c')
  t.equal(opened, 3, 'opened again after the failure, and when they were refused')
  nowMs = 1_190_000
  t.match(await rejection(identity.credentials()), { kind: 'auth', sent: 'no', message: /could not be loaded \(Error\)/ })
})

t.test('keys come from the file, the environment, a profile, a container and web identity', async t => {
  const aws = none!
  const keysOf = async (options: typeof aws) => await (await openCredentials(options, 'eu-west-1'))()
  t.match(await keysOf({ ...aws, accessKeyId: 'AKIA1', secretAccessKey: 's' }), { accessKeyId: 'AKIA1' })

  await t.test('environment', async t => {
    environment(t, { AWS_ACCESS_KEY_ID: 'AKIA2', AWS_SECRET_ACCESS_KEY: 's', AWS_SESSION_TOKEN: 't' })
    t.match(await keysOf(aws), { accessKeyId: 'AKIA2', sessionToken: 't' })
  })
  await t.test('profile', async t => {
    const file = join(mkdtempSync(join(tmpdir(), 'aws-')), 'credentials')
    writeFileSync(file, '[work]\naws_access_key_id = AKIA3\naws_secret_access_key = s\n')
    environment(t, { AWS_SHARED_CREDENTIALS_FILE: file })
    t.match(await keysOf({ ...aws, profile: 'work' }), { accessKeyId: 'AKIA3' })
  })
  await t.test('container', async t => {
    const { url } = await startTokenServer(t, number => JSON.stringify({
      AccessKeyId: `ASIA${number}`, SecretAccessKey: 's', Token: 't', Expiration: inHours(1)
    }))
    environment(t, { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/role` })
    t.match(await keysOf(aws), { accessKeyId: 'ASIA1', sessionToken: 't' })
  })
  await t.test('web identity', async t => {
    const token = join(mkdtempSync(join(tmpdir(), 'aws-')), 'token')
    writeFileSync(token, 'jwt')
    const sts = await startTokenServer(t, roleXml('AssumeRoleWithWebIdentity'))
    environment(t, {
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/pod',
      AWS_ENDPOINT_URL_STS: sts.url
    })
    t.match(await keysOf(aws), { accessKeyId: 'ASIA1', sessionToken: 'token1' })
    t.match(sts.paths[0], /Action=AssumeRoleWithWebIdentity.*WebIdentityToken=jwt/)
  })
  await t.test('role', async t => {
    const sts = await startTokenServer(t, roleXml('AssumeRole'))
    environment(t, { AWS_ENDPOINT_URL_STS: sts.url })
    const keys = { accessKeyId: 'AKIA1', secretAccessKey: 's' }
    const role = { roleArn: 'arn:aws:iam::123456789012:role/r', externalId: 'acme' }
    t.match(await keysOf({ ...aws, ...keys, ...role }), { accessKeyId: 'ASIA1', sessionToken: 'token1' })
    t.match(sts.paths[0], /Action=AssumeRole&.*RoleSessionName=tollgate.*ExternalId=acme/)
  })
})

t.test('credentials that AWS refuses before they end are renewed, and the request is signed again', async t => {
  const sts = await startTokenServer(t, roleXml('AssumeRole'))
  environment(t, { AWS_ENDPOINT_URL_STS: sts.url })
  const keys = (number: number) =>
    ({ accessKeyId: `ASIA${number}`, secretAccessKey: `secret${number}`, sessionToken: `token${number}` })
  const server = await startBedrock(keys(1))
  t.teardown(() => server.close())
  const aws = { ...none!, accessKeyId: 'AKIA1', secretAccessKey: 's', roleArn: 'arn:aws:iam::123456789012:role/r' }
  const provider = createProvider(
    newProvider({ id: 'bedrock', protocol: 'bedrock', baseUrl: new URL(server.url).origin, region: 'eu-west-1', aws }),
    new Deadlines())
  t.teardown(() => provider.close())
  const models = async () => await provider.models?.(signal)
  t.match(await models(), ['amazon.nova-lite-v1:0'])
  server.keys = keys(2)
  t.match(await models(), ['amazon.nova-lite-v1:0'])
  t.same(server.refused, ['UnrecognizedClientException'])
  server.keys = keys(9)
  const error = await rejection(models())
  t.match(error, { kind: 'auth', sent: 'yes' })
  t.notMatch(JSON.stringify(error) + String(error), /token\d|secret\d/, 'the message of AWS quotes the token')
})
