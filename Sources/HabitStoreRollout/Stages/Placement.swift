/// Which part of the flags' rules put a user where the user is, or has confirmed it since.
///
/// A user whom a rule placed goes back when the rule does not name the user any more. A percentage whose weights or bucketing changed
/// moves back no user whom a percentage placed.
enum Placement: String, Sendable, Hashable, Codable {
    /// A list, a condition or a default, which do not depend on the user's bucket.
    case rule
    /// A percentage, or a rule that may be one.
    case percentage

    init(isBucketed: Bool) { self = isBucketed ? .percentage : .rule }
}
