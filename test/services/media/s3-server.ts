import S3rver from '@20minutes/s3rver'
import { temporaryFolder } from '../../helpers/process.ts'

interface Teardown { teardown (work: () => unknown): void }

export const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }

/**
 * Starts an S3-compatible server with the bucket `media`. It checks signatures, unless a test lists: it
 * leaves out the slash that the address of a bucket ends with.
 */
export async function startS3 (
  t: Teardown, allowMismatchedSignatures = false
): Promise<{ endpoint: string, port: number }> {
  const directory = await temporaryFolder(t)
  const configureBuckets = [{ name: 'media' }]
  const server = new S3rver({
    address: '127.0.0.1', port: 0, silent: true, directory, configureBuckets, allowMismatchedSignatures
  })
  const { port } = await server.run()
  t.teardown(() => server.close())
  return { endpoint: `http://127.0.0.1:${port}`, port }
}
