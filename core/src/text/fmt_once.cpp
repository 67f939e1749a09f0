// SPDX-License-Identifier: Apache-2.0 OR MIT
// What fmt would compile in every file of its header-only form: compiled here once, and hidden in what it is linked to.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>, locale_ref);
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl(locale_ref);
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;

}  // namespace detail
FMT_END_NAMESPACE
