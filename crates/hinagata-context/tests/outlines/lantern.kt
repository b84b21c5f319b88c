package night.lanterns

import java.io.Closeable

const val MAX_OIL = 100
val route = listOf("gate", "well", "${listOf("mill").first()} {")

typealias Visit = (String) -> Boolean

/** A lantern. */
data class Lantern @JvmOverloads constructor(
    val owner: String,
    private var oil: Int = MAX_OIL,
) : Closeable, Comparable<Lantern> {
    val isLit: Boolean
        get() = oil > 0

    var place: String = "gate"
        set(value) {
            require(value in route) { "unknown: $value" }
            field = value
            println(value)
        }

    init {
        require(oil >= 0)
        println("made }")
        println('}')
    }

    fun burn(hours: Int): Int {
        oil -= hours * 7
        if (oil < 0) oil = 0
        return oil
    }

    override fun compareTo(other: Lantern) = oil.compareTo(other.oil)

    override fun close() =
        route.forEach { name ->
            println(name)
            burn(1)
            println(oil)
        }

    companion object {
        val help = """
            usage: "lantern" {
            """

        fun find(place: String): Lantern? {
            val index = route.indexOf(place)
            println(index)
            return null
        }
    }
}

sealed interface Carrier {
    fun carry(lantern: Lantern)
    suspend fun drop(lantern: Lantern): Boolean
}

enum class Season { Summer, Winter }

object Night : Carrier {
    override fun carry(lantern: Lantern) {
        lantern.burn(1)
        lantern.burn(2)
        lantern.burn(3)
    }

    override suspend fun drop(lantern: Lantern): Boolean = true
}

inline fun <reified T : Carrier> List<T>.carryAll(visit: Visit) where T : Any {
    for (carrier in this) {
        if (visit(carrier.toString())) continue
        println(carrier)
    }
}
