"""What providers call their errors, and what each word and each status means. A table and nothing else.

A word is listed when a provider's documentation or client, or a thread about a server, shows it; folded to lower case
with underscores. GENERIC words are those that providers put on errors of several kinds: a telling status beats them.
"""

from typing import Final

from signoff.core.model.response import FailureKind

_WORDS: Final = {
    FailureKind.AUTHENTICATION: (
        "api_key_invalid authentication_error authenticationerror incorrect_api_key invalid_api_key "
        "invalid_authentication_error unauthenticated unauthorized"
    ),
    FailureKind.PERMISSION: (
        "access_denied accessdeniedexception forbidden permission_denied permission_error permissiondeniederror "
        "unsupported_country_region_territory"
    ),
    FailureKind.NOT_FOUND: (
        "deploymentnotfound model_not_found not_found not_found_error notfounderror resourcenotfoundexception"
    ),
    FailureKind.INVALID_REQUEST: (
        "data_residency_mismatch invalid_prompt missing_required_parameter request_too_large string_above_max_length "
        "unprocessable_entity unsupported_parameter unsupported_value"
    ),
    FailureKind.CONTEXT_FULL: (
        "context_length_exceeded context_window_exceeded exceed_context_size_error model_context_window_exceeded "
        "prompt_too_long"
    ),
    FailureKind.CONTENT_FILTER: (
        "bio_policy content_filter content_policy_violation image_content_policy_violation "
        "misalignment_policy_violation moderation_blocked responsibleaipolicyviolation"
    ),
    FailureKind.QUOTA: (
        "billing_error billing_hard_limit_reached billing_not_active credit_balance_exhausted "
        "exceeded_current_quota_error insufficient_balance insufficient_credits insufficient_quota payment_required"
    ),
    FailureKind.RATE_LIMITED: (
        "rate_limit rate_limit_error rate_limit_exceeded rate_limited rate_limit_reached ratelimiterror "
        "ratelimitreached resource_exhausted throttlingexception too_many_requests"
    ),
    FailureKind.OVERLOADED: (
        "engine_overloaded engine_overloaded_error insufficient_system_resource model_overloaded overloaded "
        "overloaded_error server_overloaded service_unavailable serviceunavailableexception slow_down unavailable "
        "unavailable_error"
    ),
    FailureKind.PROVIDER_TIMEOUT: (
        "deadline_exceeded gateway_timeout modeltimeoutexception request_timeout timeout timeout_error"
    ),
    FailureKind.CANCELLED: "cancelled client_closed_request request_cancelled",
}
_GENERIC_WORDS: Final = {
    FailureKind.INVALID_REQUEST: (
        "bad_request badrequesterror failed_precondition invalid_argument invalid_request invalid_request_error "
        "validation_error validationexception"
    ),
    FailureKind.SERVER_ERROR: (
        "api_error internal internal_error internal_server_error internalserverexception internalservererror "
        "server_error"
    ),
}
_STATUSES: Final = {
    401: FailureKind.AUTHENTICATION,
    402: FailureKind.QUOTA,
    403: FailureKind.PERMISSION,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.PROVIDER_TIMEOUT,
    429: FailureKind.RATE_LIMITED,
    499: FailureKind.CANCELLED,
    503: FailureKind.OVERLOADED,
    504: FailureKind.PROVIDER_TIMEOUT,
    524: FailureKind.PROVIDER_TIMEOUT,
    529: FailureKind.OVERLOADED,
}
ERRORS: Final = 400
"""The first status that is an error."""
_SERVER_ERRORS: Final = 500

KINDS: Final = {word: kind for kind, words in _WORDS.items() for word in words.split()}
GENERIC: Final = {word: kind for kind, words in _GENERIC_WORDS.items() for word in words.split()}


def kind_of_status(status: int) -> FailureKind:
    """What an HTTP status says by itself. 1xx to 3xx are no errors: where an error should stand, nobody answered it."""
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= _SERVER_ERRORS:
        return FailureKind.SERVER_ERROR
    if status >= ERRORS:
        return FailureKind.INVALID_REQUEST
    return FailureKind.NOT_THE_PROTOCOL
