package night.lanterns

import scala.collection.mutable

/** A lantern. */
case class Lantern(owner: String, oil: Int = 100)
    extends Ordered[Lantern]
    with Serializable {

  val sign = '{'
  private val places = mutable.Map[String, Int]()

  def burn(hours: Int): Lantern = {
    val left = oil - hours * 7
    println(s"left: ${if (left > 0) "some" else "none"} }")
    copy(oil = left)
  }

  override def compare(that: Lantern): Int = oil.compare(that.oil)

  def visit[A, B >: A](place: A)(
      after: B => Unit
  )(implicit order: Ordering[B]): Unit = {
    after(place)
    println("""raw "{" """)
    places.clear()
  }
}

object Lantern {
  type Visit = String => Boolean

  def find(place: String): Option[Lantern] = place match {
    case "gate" => Some(Lantern("Ada"))
    case "well" => None
    case _ => None
  }

  implicit class Ops(lantern: Lantern) {
    def drop(): Unit = {
      println(lantern)
      println('x')
      println('symbol)
    }
  }
}

trait Carrier {
  def carry(lantern: Lantern): Unit
  def lanterns: Seq[Lantern]
}
