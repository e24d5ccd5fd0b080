/// A declaration whose name may have been another in the previous version.
protocol Renamed {
    var name: String { get }
    var originalName: String? { get }
}

extension EntityDescription: Renamed {}
extension AttributeDescription: Renamed {}

extension Array where Element: Renamed {
    /// The position in this version of an element of a later one; nil for a new element.
    ///
    /// `originalName` is the name in the previous version. A declaration copied into versions after the rename keeps it, as with Core Data's renaming
    /// identifiers: those versions look for its own name first, then for the former one.
    func place(ofFormer element: Element) -> Int? {
        guard let original = element.originalName else { return firstIndex { $0.name == element.name } }
        return firstIndex { $0.name == element.name && $0.originalName == original }
            ?? firstIndex { $0.name == original }
            ?? firstIndex { $0.name == element.name || $0.originalName == original }
    }
}
