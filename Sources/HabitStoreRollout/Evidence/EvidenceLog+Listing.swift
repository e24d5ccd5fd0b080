extension EvidenceLog {
    /// The default limit of ``newest(_:)``.
    public static let newestRecords = 1_000

    /// The newest records of the file, and a check of the whole file. Memory depends on `limit` and not on the file's size; of other records only
    /// places and hashes are read.
    ///
    /// - Throws: system errors. A damaged file does not throw: the listing reports it.
    public func newest(_ limit: Int = newestRecords) throws -> EvidenceListing {
        var listing = EvidenceListing()
        guard let file = try open() else { return listing }
        var places = NewestPlaces(limit: limit)
        var start = 0
        let size = try file.size()
        try file.forEachPart(0..<size) { part, length in
            defer { start += length }
            switch part {
            case .line(let bytes):
                guard listing.walk.passes(bytes) else { return }
                listing.count += 1
                places.note(.init(start: start, line: listing.walk.line))
            case .overlong: listing.walk.takeOverlong()
            case .rest(let bytes):
                if EvidenceLine.isTorn(bytes) {
                    listing.tornBytes = bytes.count
                } else {
                    listing.walk.takeUnfinished()
                }
            }
        }
        for place in places.inOrder {
            do {
                listing.records.append(try file.record(at: place.start, size))
            } catch let fault as EvidenceLine.Fault {
                // The hash was checked before and is right, but the line does not decode as an event.
                listing.count -= 1
                listing.walk.note(fault.reason, at: place.line)
            }
        }
        return listing
    }
}

extension EvidenceWalk {
    /// Takes the next line, reading no more of it than needed.
    ///
    /// - Returns: whether its own hash is right.
    fileprivate mutating func passes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // The event of the first line decides whether the chain may begin with it.
        if line > 0, let skimmed = EvidenceLine.skim(bytes) {
            take(skimmed)
            return true
        }
        return take(bytes) != nil
    }
}

/// The last `limit` places.
private struct NewestPlaces {
    struct Place {
        let start: Int
        let line: Int
    }

    let limit: Int
    private var places: [Place] = []
    /// The index of the oldest place, once there are `limit`.
    private var oldest = 0

    init(limit: Int) { self.limit = limit }

    mutating func note(_ place: Place) {
        guard limit > 0 else { return }
        guard places.count == limit else { return places.append(place) }
        places[oldest] = place
        oldest = (oldest + 1) % limit
    }

    var inOrder: [Place] { Array(places[oldest...] + places[..<oldest]) }
}
