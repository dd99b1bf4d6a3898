import type { NeverCountCategory } from './category.ts';
import { NEVER_COUNT_CATEGORIES } from './category.ts';
import type { InnerCodes } from './inner-codes.ts';
import { compactCode } from './normalise.ts';

interface NeverCountCodes {
  readonly category: NeverCountCategory;
  /** Codes that are also words of a sentence: read only as the caller's code or where a wrapper puts one. */
  readonly words: string;
  /** Codes that no sentence uses as a word: read anywhere in the message. */
  readonly codes: string;
  readonly reason: string;
}

/** Codes that decide whatever the text says (fallback 2.1 rule 1). */
const NEVER_COUNT_CODES: readonly NeverCountCodes[] = [
  {
    category: 'image_pull',
    words: 'image_pull',
    codes:
      'ErrImagePull ImagePullBackOff ErrImageNeverPull InvalidImageName ImageInspectError ' +
      'RegistryUnavailable ErrRegistryUnavailable image_pull_error image_pull_failed ImagePullFailure ' +
      'image_pull_backoff CannotPullContainerError CannotPullContainer manifest_unknown ' +
      'MANIFEST_UNKNOWN pull_failed PullImageError FailedToPullImage',
    reason: 'The machine was there; its image could not be fetched.',
  },
  {
    category: 'checkpoint',
    words: 'checkpoint',
    codes:
      'checkpoint_error checkpoint_failed checkpoint_failure checkpoint_corrupt checkpoint_corrupted ' +
      'checkpoint_load_failed checkpoint_save_failed checkpoint_not_found checkpoint_write_failed ' +
      'checkpoint_read_failed checkpoint_restore_failed CheckpointError CheckpointException',
    reason: 'The workload ran far enough to use its checkpoint.',
  },
  {
    category: 'application',
    words: 'application app application_error BackOff SlowDown user_code workload_error',
    codes:
      'ApplicationError app_error CrashLoopBackOff BackoffLimitExceeded container_exited_with_error ' +
      'ContainerExitedWithError log_quota_exceeded ModuleNotFoundError KeyError ValueError TypeError ' +
      'AssertionError ImportError IndexError AttributeError NameError FileNotFoundError RayTaskError ' +
      'RayActorError NotImplementedError ZeroDivisionError JSONDecodeError insufficient_quota ' +
      'NonZeroExitCode NON_ZERO_EXIT NoSuchBucket NoSuchKey',
    reason: 'The program itself failed, or a service that it calls while it runs.',
  },
  {
    category: 'runtime',
    words:
      'runtime runtime_error OOM OutOfMemory out_of_memory cuda nccl nvml xid gpu_driver ' +
      'driver_mismatch',
    codes:
      'OOMKilled OutOfMemoryError OUT_OF_MEMORY cuda_error nccl_error driver_error RunContainerError ' +
      'CreateContainerError ContainerCannotRun StartError ContainerStatusUnknown FailedCreatePodSandBox ' +
      'executor_error creating_container_error ncclSystemError ncclInternalError ncclUnhandledCudaError ' +
      'ncclRemoteError ncclInvalidUsage CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_NO_DEVICE ' +
      'CUDA_ERROR_UNKNOWN CUDA_ERROR_ILLEGAL_ADDRESS cudaErrorNoDevice cudaErrorMemoryAllocation ' +
      'NVML_ERROR_DRIVER_NOT_LOADED NVML_ERROR_LIB_RM_VERSION_MISMATCH DistBackendError EMFILE ENFILE ' +
      'ENOMEM MemoryError gpu_fell_off_bus ecc_error',
    reason: 'A fault of a machine or driver that was already given to us.',
  },
  {
    category: 'auth',
    words:
      'auth authentication authentication_error unauthenticated unauthorized 401 login_required ' +
      'invalid_key invalid_token bad_credentials expired_credentials credentials_expired ' +
      'token_expired',
    codes:
      'AuthFailure auth_failure AuthenticationFailed AuthenticationError auth_error auth_failed ' +
      'InvalidAuthenticationToken InvalidAuthenticationTokenTenant ExpiredAuthenticationToken ' +
      'AuthenticationFailedInvalidHeader ExpiredToken ExpiredTokenException TokenExpired ' +
      'InvalidClientTokenId SignatureDoesNotMatch RequestExpired IncompleteSignature ' +
      'MissingAuthenticationToken InvalidAccessKeyId UnrecognizedClient UnrecognizedClientException ' +
      'NotAuthenticated InvalidApiKey invalid_api_key invalid_grant InvalidToken InvalidCredentials ' +
      'CredentialsError NoCredentialsError NoCloudAccessError NoCredentialProviders DefaultCredentialsError RefreshError ' +
      'OptInRequired account_inactive http_401',
    reason: 'The caller could not prove who it is, so nothing was said about capacity.',
  },
  {
    category: 'rbac',
    words:
      'rbac forbidden authorization permissions not_authorized access_denied policy_violation ' +
      'insufficient_permissions',
    codes:
      'permission_denied PermissionDenied UnauthorizedOperation UnauthorizedAccess AccessDenied ' +
      'AccessDeniedException RequestDisallowedByPolicy NotAuthorizedOrNotFound NotAuthorized ' +
      'AuthorizationFailed LinkedAuthorizationFailed AuthorizationError InsufficientPermissions ' +
      'InsufficientPrivileges PolicyViolation DisallowedByPolicy CONDITION_NOT_MET ' +
      'iam_permission_denied SERVICE_DISABLED accessNotConfigured PublicAccessDenied ScopeLocked ' +
      'ReadOnlyDisabledSubscription',
    reason: 'The caller is known and not allowed: another pool would be refused as well.',
  },
  {
    category: 'network',
    words:
      'network dns tls connection connection_error connection_refused connection_reset ' +
      'network_error network_failure dns_error tls_error ssl_error',
    codes:
      'NetworkError ConnectionError ConnectionRefused ConnectionReset ConnectionRefusedError ' +
      'ConnectionResetError ConnectionAbortedError SSLError ECONNREFUSED ECONNRESET ECONNABORTED ' +
      'ENOTFOUND EAI_AGAIN EPIPE EHOSTUNREACH ENETUNREACH ERR_NETWORK EndpointConnectionError ' +
      'NewConnectionError MaxRetryError NetworkNotReady CERT_HAS_EXPIRED ' +
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE DEPTH_ZERO_SELF_SIGNED_CERT ProxyError NameResolutionError ' +
      'UND_ERR_SOCKET',
    reason: 'The question did not reach the provider, or the answer did not come back.',
  },
  {
    category: 'cancelled',
    words: 'cancelled canceled cancellation cancel',
    codes:
      'job_cancelled job_canceled user_cancelled user_canceled operation_cancelled OperationCanceled ' +
      'OperationCancelled RequestCanceled RequestCancelled cancelled_by_user canceled_by_user ' +
      'aborted_by_user stopped_by_user terminated_by_user context_canceled CancelledError CanceledError ' +
      'KeyboardInterrupt client_closed_request',
    reason: 'Somebody took the request back before it was decided.',
  },
  {
    category: 'timeout',
    words:
      'timeout timed_out time_out deadline deadline_exceeded request_timeout read_timeout connect_timeout ' +
      'operation_timeout gateway_timeout',
    codes:
      'DeadlineExceeded PodsReadyTimeout TIME_LIMIT max_duration_exceeded max_runtime_exceeded ' +
      'waiting_runner_limit_exceeded ETIMEDOUT ESOCKETTIMEDOUT ReadTimeoutError ConnectTimeoutError TimeoutError OperationTimedOut ' +
      'VMStartTimedOut OSProvisioningTimedOut http_408 http_504',
    reason: 'A wait ended; what would have come after it is not known.',
  },
];

/** Endings of a caller's code that tell its class, however the provider names the step before it. */
const NEVER_COUNT_ENDINGS: readonly { readonly ending: RegExp; readonly category: NeverCountCategory }[] = [
  { ending: /(?:timeout|timedout|deadlineexceeded)(?:exception|error)?$/, category: 'timeout' },
  { ending: /(?:cancelled|canceled|cancellation)(?:exception|error)?$/, category: 'cancelled' },
];

const spelled = (member: 'words' | 'codes') =>
  NEVER_COUNT_CODES.flatMap((row) =>
    row[member].split(' ').map((code) => [compactCode(code), row.category] as const),
  );

const anywhere: ReadonlyMap<string, NeverCountCategory> = new Map(spelled('codes'));
const inPlace: ReadonlyMap<string, NeverCountCategory> = new Map([...anywhere, ...spelled('words')]);

/** The class of a caller's code, when it is one that never counts (fallback 2.1 rule 1). */
export function neverCountCode(forms: readonly string[]): NeverCountCategory | undefined {
  for (const form of forms) {
    const category =
      inPlace.get(form) ?? NEVER_COUNT_ENDINGS.find(({ ending }) => ending.test(form))?.category;
    if (category !== undefined) return category;
  }
  return undefined;
}

/**
 * The class of the codes inside a message. Endings are not read here: in a sentence `connect_timeout` may be
 * a setting. Of several codes the one of the earlier step names the failure.
 */
export function neverCountInnerCode(codes: InnerCodes): NeverCountCategory | undefined {
  const found = new Set([
    ...codes.positioned.map((code) => inPlace.get(code)),
    inPlace.get(codes.topic ?? ''),
    ...codes.mentioned.map((code) => anywhere.get(code)),
  ]);
  return NEVER_COUNT_CATEGORIES.find((category) => found.has(category));
}
