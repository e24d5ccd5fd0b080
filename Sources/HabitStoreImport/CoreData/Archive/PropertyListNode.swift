import Foundation

/// One object of a binary property list. Containers hold the numbers of their members, so that a list that refers to itself
/// is no danger.
enum PropertyListNode {
    case null
    case bool(Bool)
    case int(Int64)
    case real(Double)
    case date(Date)
    case data(Data)
    case string(String)
    /// A reference of a keyed archive, which Foundation outside of Apple's systems hands out as something opaque.
    case uid(Int)
    case array([Int])
    case dictionary([(key: Int, value: Int)])
}
