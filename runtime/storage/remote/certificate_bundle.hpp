#pragma once

namespace leat {

/// The bundle of certificates that the user names, as for other programs, or else that of the
/// system: a libcurl that was built elsewhere may look for it in another place. Null: libcurl's
/// own.
const char* certificate_bundle() noexcept;

} // namespace leat
