import { fetchPackages } from '../helpers/fetched.ts'

type Model = new (manifest: object) => { validate (): void }
type Group<Kind extends string> = Record<Kind, Model>

interface Kubernetes {
  v1: Group<'ConfigMap' | 'Secret' | 'Service'>
  apps: { v1: Group<'Deployment'> }
  policy: { v1: Group<'PodDisruptionBudget'> }
  autoscaling: { v2: Group<'HorizontalPodAutoscaler'> }
  networkingK8sIo: { v1: Group<'Ingress' | 'NetworkPolicy'> }
}

const load = await fetchPackages('kubernetes-models-5.1.0', 'kubernetes-models@5.1.0')
const kubernetes = await load?.('kubernetes-models') as Kubernetes | undefined

/** Kubernetes' schemas of the kinds in `deploy/`; null where they cannot be installed. */
const models: Readonly<Record<string, Model | null>> = {
  ConfigMap: kubernetes?.v1.ConfigMap ?? null,
  Secret: kubernetes?.v1.Secret ?? null,
  Service: kubernetes?.v1.Service ?? null,
  Deployment: kubernetes?.apps.v1.Deployment ?? null,
  PodDisruptionBudget: kubernetes?.policy.v1.PodDisruptionBudget ?? null,
  HorizontalPodAutoscaler: kubernetes?.autoscaling.v2.HorizontalPodAutoscaler ?? null,
  Ingress: kubernetes?.networkingK8sIo.v1.Ingress ?? null,
  NetworkPolicy: kubernetes?.networkingK8sIo.v1.NetworkPolicy ?? null
}

export const manifestKinds: readonly string[] = Object.keys(models)

/** Throws unless a manifest follows the schema of its kind. Without the schemas, only its kind is checked. */
export function checkManifest (manifest: { kind: string }): void {
  const Model = models[manifest.kind]
  if (Model === undefined) throw new Error(`No schema for ${manifest.kind}`)
  if (Model !== null) new Model(manifest).validate()
}
