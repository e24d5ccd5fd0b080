/// What has a name in one version of a schema, and may have had another in the version before.
protocol Renamed {
    var name: String { get }
    var originalName: String? { get }
}

extension EntityDescription: Renamed {}
extension AttributeDescription: Renamed {}

extension Array where Element: Renamed {
    /// The place of what an element of a later version was in this one; nil for what is new.
    ///
    /// `originalName` is the name in the version before. A declaration that is carried over into the versions after the one that
    /// renamed goes on meaning that one, as Core Data's renaming identifiers do: it is looked for by its own name there, and by the
    /// name that it had before both.
    func place(ofFormer element: Element) -> Int? {
        guard let original = element.originalName else { return firstIndex { $0.name == element.name } }
        return firstIndex { $0.name == element.name && $0.originalName == original }
            ?? firstIndex { $0.name == original }
            ?? firstIndex { $0.name == element.name || $0.originalName == original }
    }
}
