import type { AwsOptions } from '../../../schemas/config/providers.ts'
import { UpstreamError } from '../../shared/errors.ts'

/** AWS credentials; long-term keys have no `expiration`. */
export interface AwsCredentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  expiration?: Date
}

export type AwsIdentity = ReturnType<typeof createAwsIdentity>

/** What the parts of Amazon Bedrock share. */
export interface BedrockOptions {
  region: string
  aws: AwsOptions | null
  /** Null: requests have a key. */
  identity: AwsIdentity | null
}

type Provider = () => Promise<AwsCredentials>

/** Credentials are renewed this long before they expire. */
const aheadMs = 300_000
/** Credentials that expire sooner are not used: the request is still to be sent, and clocks differ. */
const leastMs = 15_000

/** The credentials of one provider. `open` is called on first use, and again after `forget`. */
export function createAwsIdentity (open: () => Promise<Provider>, nowMs: () => number = Date.now) {
  let provider: Promise<Provider> | null = null
  let current: AwsCredentials | null = null
  let renewal: Promise<AwsCredentials> | null = null

  async function load (): Promise<AwsCredentials> {
    try {
      provider ??= open()
      current = await (await provider)()
      return current
    } catch (cause) {
      provider = null
      const name = cause instanceof Error ? cause.name : 'unknown'
      throw new UpstreamError('auth', 'no', `The AWS credentials could not be loaded (${name}).`, { cause })
    }
  }

  return {
    /** Returns credentials that have not expired; calls share a renewal. Throws UpstreamError, not sent. */
    async credentials (): Promise<AwsCredentials> {
      const leftMs = (current?.expiration?.getTime() ?? Infinity) - nowMs()
      if (current !== null && leftMs >= aheadMs) return current
      renewal ??= load().finally(() => { renewal = null })
      const last = current
      return await renewal.catch(error => {
        if (last !== null && leftMs >= leastMs) return last
        throw error
      })
    },
    /** AWS has refused the credentials. Returns whether others may be accepted: these were temporary. */
    forget (): boolean {
      const isTemporary = current?.sessionToken !== undefined
      current = null
      provider = null
      return isTemporary
    }
  }
}

/**
 * Opens the AWS SDK's provider of the configured credentials: static keys, or its chain of environment,
 * profile, web identity, container and instance; and the role that they assume.
 */
export async function openCredentials (aws: AwsOptions | null, region: string): Promise<Provider> {
  const { fromNodeProviderChain, fromTemporaryCredentials } = await import('@aws-sdk/credential-providers')
  const { accessKeyId, secretAccessKey, sessionToken, profile, roleArn, externalId } = aws ?? {}
  const clientConfig = { region }
  const isStatic = accessKeyId != null && secretAccessKey != null
  const source: Provider = isStatic
    ? async () => ({ accessKeyId, secretAccessKey, ...(sessionToken != null && { sessionToken }) })
    : fromNodeProviderChain({ clientConfig, ...(profile != null && { profile }) })
  if (roleArn == null) return source
  return fromTemporaryCredentials({
    masterCredentials: source,
    clientConfig,
    params: { RoleArn: roleArn, RoleSessionName: 'tollgate', ...(externalId != null && { ExternalId: externalId }) }
  })
}
