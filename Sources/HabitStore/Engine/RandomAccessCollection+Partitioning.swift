extension RandomAccessCollection {
    /// The first position at which `isBehind` holds; it must hold from there on.
    package func partitioningIndex(_ isBehind: (Element) throws -> Bool) rethrows -> Index {
        var low = startIndex
        var left = count
        while left > 0 {
            let middle = index(low, offsetBy: left / 2)
            if try isBehind(self[middle]) {
                left /= 2
            } else {
                low = index(after: middle)
                left -= left / 2 + 1
            }
        }
        return low
    }
}
