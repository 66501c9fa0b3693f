import type { ProviderConfig } from '../../config/catalogue/types.ts'
import { urlPart } from '../url-part.ts'

export type VertexConfig = Pick<ProviderConfig, 'baseUrl' | 'project' | 'region' | 'credentials' | 'bucket'>

/** Where Vertex AI has the models of a project in a region. */
export interface VertexPlace {
  /** The address of the service. */
  server: string
  /** The path of the project and region, below the version. */
  path: string
  /** The address of Cloud Storage: behind a proxy, the same as of the service. */
  storage: string
}

export function vertexPlace ({ baseUrl, project, region }: VertexConfig): VertexPlace {
  const { hostname, origin } = new URL(baseUrl)
  return {
    server: baseUrl,
    path: `/projects/${urlPart(project ?? '')}/locations/${urlPart(region ?? 'global')}`,
    storage: hostname.endsWith('.googleapis.com') ? 'https://storage.googleapis.com' : origin
  }
}
