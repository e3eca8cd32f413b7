defmodule Mote.Prelude.Characters do
  # Characters as people count them, and white space: what functions of String are made of.
  #
  # A character is one code point or several: `follows` says whether a code point belongs to the character before it, from
  # what is known of the code points so far, its state. The classes of code points come from `Mote.Prelude.CodePoints`.
  @moduledoc false
  use Mote.Behaviour

  {pages, numbers, classes} = Mote.Prelude.CodePoints.classes()
  @pages pages
  @numbers numbers
  @classes classes
  @page Mote.Prelude.CodePoints.page()

  # Some releases of Erlang let nothing but another picture follow a picture with a joiner.
  @joined if Mote.Prelude.CodePoints.one?([0x2764, 0x200D, 0x301]),
            do: :picture_joined,
            else: :picture_joined_only

  # By its page, which has a number for each class.
  defpure class(c) when c < byte_size(@pages) * @page do
    page = :binary.at(@pages, div(c, @page))
    elem(@classes, :binary.at(@numbers, page * @page + rem(c, @page)))
  end

  defpure class(_), do: :other

  # The state after a code point of a class that belongs to the character before it; nil if it begins a new one.
  defpure follows(:cr, :lf), do: :lf
  defpure follows(state, _) when state in [:cr, :lf, :control, :start], do: nil
  defpure follows(_, class) when class in [:cr, :lf, :control], do: nil
  defpure follows(:picture, :joiner), do: @joined
  defpure follows(:picture_joined_only, class), do: if(class == :picture, do: :picture)
  defpure follows(:picture, class) when class in [:extending, :linker], do: :picture
  defpure follows(:consonant, class) when class in [:extending, :joiner], do: :consonant
  defpure follows(:consonant, :linker), do: :consonant_linked

  defpure follows(:consonant_linked, class) when class in [:extending, :joiner, :linker],
    do: :consonant_linked

  defpure follows(:consonant_linked, :consonant), do: :consonant
  defpure follows(_, class) when class in [:extending, :joiner, :linker, :spacing], do: :other
  defpure follows(:prepended, class), do: begins(class)
  defpure follows(:picture_joined, :picture), do: :picture
  defpure follows(:flag, :flag), do: :other

  defpure follows(:leading, class) when class in [:leading, :vowel, :vowel_ended, :trailing_ended],
    do: begins(class)

  defpure follows(:vowel_ended, class) when class in [:vowel, :trailing], do: begins(class)
  defpure follows(:trailing_ended, :trailing), do: :trailing_ended
  defpure follows(_, _), do: nil

  # The state after a code point that begins a character.
  defpure begins(:vowel), do: :vowel_ended
  defpure begins(:trailing), do: :trailing_ended
  defpure begins(class) when class in [:extending, :joiner, :linker, :spacing], do: :other
  defpure begins(class), do: class

  defpure graphemes(text) do
    {bytes, _} = Mote.Total.text_run(text, :plain, byte_size(text))

    if bytes == byte_size(text),
      do: Mote.Total.binary_split(text, ""),
      else: Enum.reverse(backwards(text))
  end

  # The last character first.
  defpure backwards(text), do: backwards(text, text, :start, [])

  # `from` is the text from the beginning of the character that `text` goes on, or begins behind, in a state.
  defpure backwards("", from, _, done), do: character(from, "", done)

  defpure backwards(<<c::utf8, rest::binary>> = text, from, state, done) do
    class = class(c)

    case follows(state, class) do
      nil -> backwards(rest, text, begins(class), character(from, text, done))
      state -> backwards(rest, from, state, done)
    end
  end

  # A byte that is not of UTF-8.
  defpure backwards(<<_, rest::binary>> = text, from, _, done),
    do: backwards(rest, text, :control, character(from, text, done))

  defpure character(from, text, done) do
    size = byte_size(from) - byte_size(text)
    if size == 0, do: done, else: [binary_part(from, 0, size) | done]
  end

  # -- places --------------------------------------------------------------------------------------------------

  # Where the first `n` characters end, and how many the text has too few.
  defpure skip(text, n) do
    {rest, n} = skip(text, n, :start)
    {byte_size(text) - byte_size(rest), n}
  end

  defpure skip("", n, _), do: {"", n}

  defpure skip(<<c::utf8, rest::binary>> = text, n, state) do
    class = class(c)

    case follows(state, class) do
      nil when n == 0 -> {text, 0}
      nil when class == :other -> skip_plain(text, n, rest, Mote.Total.text_run(text, :plain, n))
      nil -> skip(rest, n - 1, begins(class))
      state -> skip(rest, n, state)
    end
  end

  defpure skip(<<_, rest::binary>> = text, n, _),
    do: if(n == 0, do: {text, 0}, else: skip(rest, n - 1, :control))

  # All that are plain, at once; or the first one.
  defpure skip_plain(_, n, rest, {0, _}), do: skip(rest, n - 1, :other)

  defpure skip_plain(text, n, _, {bytes, count}),
    do: skip(binary_part(text, bytes, byte_size(text) - bytes), n - count, :other)

  defpure count(text) when is_binary(text) do
    {_, left} = skip(text, byte_size(text))
    byte_size(text) - left
  end

  # -- white space ---------------------------------------------------------------------------------------------

  defguardp white(c)
            when c in 9..13 or c in [0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000] or
                   c in 0x2000..0x200A

  # Where something other than white space begins.
  defpure leading(text, at) do
    case binary_part(text, at, byte_size(text) - at) do
      <<c::utf8, _::binary>> when white(c) -> leading(text, at + byte_size(<<c::utf8>>))
      _ -> at
    end
  end

  # Where it ends, not before `first`; `at` goes from the end to the front, a character at a time.
  defpure trailing(text, at, first) do
    start = start(text, at - 1, first)

    case start >= first and binary_part(text, start, at - start) do
      <<c::utf8>> when white(c) -> trailing(text, start, first)
      _ -> at
    end
  end

  # Where the character starts that ends there.
  defpure start(text, at, first) do
    if at > first and :binary.at(text, at) in 0x80..0xBF, do: start(text, at - 1, first), else: at
  end
end
