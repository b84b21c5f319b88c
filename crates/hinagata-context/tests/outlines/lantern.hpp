#pragma once

#include <map>
#include <string>
#include <vector>

namespace night::lanterns {

class Carrier;

/// A lantern.
///
/// It burns until its oil is used up. Whoever carries it fills it again,
/// because a lantern that went out once is hard to find in the dark.
template <typename Oil, class Wick = std::vector<Oil>>
class Lantern final : public Base<decltype(Oil{})> {
 public:
  using value_type = Oil;
  enum class State : int { Lit, Dark };

  Lantern() = default;
  explicit Lantern(std::string owner, int oil = 1'000)
      : owner_{std::move(owner)},
        oil_(oil) {
    static_assert(sizeof(Oil) > 0, "}");
    lit_ = oil_ > 0;
    ++count_;
  }
  virtual ~Lantern();

  Lantern& operator=(const Lantern& other) noexcept {
    owner_ = other.owner_;
    oil_ = other.oil_;
    return *this;
  }

  [[nodiscard]] bool operator<(const Lantern& other) const {
    const auto left = oil_;
    const auto right = other.oil_;
    return left < right;
  }

  int oil() const { return oil_; }

  template <typename Place>
  auto visit(Place&& place) const -> std::vector<Place> {
    auto keep = [this](const auto& found) { return found != owner_; };
    std::vector<Place> places;
    if (keep(place)) places.push_back(place);
    return places;
  }

 private:
  struct Hidden;
  std::string owner_;
  int oil_ = 0;
  static inline const std::map<std::string, int> kRoute{
      {"gate", 1},
      {"well", 2},
      {"mill", 3},
      {"bridge", 4},
      {"tower", 5},
      {"harbour", 6},
  };
};

constexpr auto kHelp = R"help(
  usage: lantern {
    "quoted" and )" closed
    for a while
)help";

struct alignas(16) Place {
  const char* name;
  double x{}, y{};
};

struct lantern* lantern_find(const Place& place) {
  for (auto& known : all()) {
    if (known.place == place.name) return &known;
  }
  return nullptr;
}

}  // namespace night::lanterns
