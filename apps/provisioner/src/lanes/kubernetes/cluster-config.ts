import { KubeConfig } from '@kubernetes/client-node';
import type { Secret } from '#platform/secret';

/** How the cluster is reached: a kubeconfig file, the pod's own account, or a server with one token. */
export type ClusterAccess =
  | { readonly kind: 'file'; readonly path: string; readonly context: string | null }
  | { readonly kind: 'in_cluster' }
  | { readonly kind: 'token'; readonly server: string; readonly token: Secret<string> };

/** Throws when the kubeconfig cannot be read: that is a matter of configuration, seen at the start. */
export function kubeConfigOf(access: ClusterAccess): KubeConfig {
  const config = new KubeConfig();
  switch (access.kind) {
    case 'file':
      config.loadFromFile(access.path);
      if (access.context !== null) config.setCurrentContext(access.context);
      return config;
    case 'in_cluster':
      config.loadFromCluster();
      return config;
    case 'token': {
      const name = 'lane';
      config.loadFromOptions({
        // Plain HTTP has no certificate to look at; the library wants that said.
        clusters: [{ name, server: access.server, skipTLSVerify: access.server.startsWith('http:') }],
        users: [{ name, token: access.token.reveal() }],
        contexts: [{ name, cluster: name, user: name }],
        currentContext: name,
      });
      return config;
    }
  }
}
