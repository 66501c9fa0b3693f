import * as kubernetes from 'kubernetes-models'

/** Kubernetes' own schemas, by kind. */
export const manifestModels = {
  ConfigMap: kubernetes.v1.ConfigMap,
  Secret: kubernetes.v1.Secret,
  Service: kubernetes.v1.Service,
  Deployment: kubernetes.apps.v1.Deployment,
  PodDisruptionBudget: kubernetes.policy.v1.PodDisruptionBudget,
  HorizontalPodAutoscaler: kubernetes.autoscaling.v2.HorizontalPodAutoscaler,
  Ingress: kubernetes.networkingK8sIo.v1.Ingress,
  NetworkPolicy: kubernetes.networkingK8sIo.v1.NetworkPolicy
} as const
