defmodule Mote.Prelude.Characters do
  # Characters as people count them, and white space: what functions of String are made of.
  #
  # A character is one code point or several: `follows` says whether a code point belongs to the character before it, from
  # what is known of the code points so far, its state. The classes of code points come from `Mote.Prelude.CodePoints`.
  @moduledoc false
  use Mote.Behaviour

  {firsts, classes} = Mote.Prelude.CodePoints.runs()
  @firsts firsts
  @classes classes

  # Some releases of Erlang let nothing but another picture follow a picture with a joiner.
  @joined if Mote.Prelude.CodePoints.one?([0x2764, 0x200D, 0x301]),
            do: :picture_joined,
            else: :picture_joined_only

  # Most text consists of these. They need no search: their class is `:other`, as a test makes sure.
  defguardp other(c)
            when c in 0x20..0x7E or c in 0xAF..0x2FF or c in 0x370..0x482 or c in 0x1E00..0x1FFF or
                   c in 0x3041..0x3096 or c in 0x309D..0x30FF or c in 0x4E00..0x9FFF

  defpure class(c) when other(c), do: :other

  defpure class(c) when c in 0xAC00..0xD7A3,
    do: if(rem(c - 0xAC00, 28) == 0, do: :vowel_ended, else: :trailing_ended)

  defpure class(c), do: class(c, 0, tuple_size(@firsts))

  # Of the run that `c` is in: one from `low` on and before `high`.
  defpure class(_, low, high) when high - low == 1, do: elem(@classes, low)

  defpure class(c, low, high) do
    middle = div(low + high, 2)
    if elem(@firsts, middle) > c, do: class(c, low, middle), else: class(c, middle, high)
  end

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

  defpure graphemes(text), do: graphemes(text, [], :start)

  defpure graphemes("", done, _), do: Enum.reverse(done)

  defpure graphemes(<<c::utf8, rest::binary>>, done, state) when other(c) and state != :prepended,
    do: graphemes(rest, [<<c::utf8>> | done], :other)

  defpure graphemes(<<c::utf8, rest::binary>>, done, state) do
    class = class(c)

    case follows(state, class) do
      nil ->
        graphemes(rest, [<<c::utf8>> | done], begins(class))

      state ->
        [character | done] = done
        graphemes(rest, [character <> <<c::utf8>> | done], state)
    end
  end

  # A byte that is not of UTF-8.
  defpure graphemes(<<byte, rest::binary>>, done, _), do: graphemes(rest, [<<byte>> | done], :control)

  # -- places --------------------------------------------------------------------------------------------------

  # Where the first `n` characters end, and how many the text has too few.
  defpure skip(text, n) do
    run = Mote.Total.ascii_run(text, 0)

    # What is printable of ASCII is a character each, but something may follow the last of them.
    case run == byte_size(text) do
      true -> {min(n, run), n - min(n, run)}
      false when n < run -> {n, 0}
      false when run == 0 -> skip(text, n, 0, :start)
      false -> skip(binary_part(text, run - 1, byte_size(text) - run + 1), n - run + 1, run - 1, :start)
    end
  end

  defpure skip("", n, at, _), do: {at, n}

  defpure skip(<<c::utf8, rest::binary>>, n, at, state) when other(c) and state != :prepended,
    do: if(n == 0, do: {at, 0}, else: skip(rest, n - 1, at + byte_size(<<c::utf8>>), :other))

  defpure skip(<<c::utf8, rest::binary>>, n, at, state) do
    class = class(c)
    after_it = at + byte_size(<<c::utf8>>)

    case follows(state, class) do
      nil when n == 0 -> {at, 0}
      nil -> skip(rest, n - 1, after_it, begins(class))
      state -> skip(rest, n, after_it, state)
    end
  end

  defpure skip(<<_, rest::binary>>, n, at, _),
    do: if(n == 0, do: {at, 0}, else: skip(rest, n - 1, at + 1, :control))

  defpure count(text) when is_binary(text) do
    {_, left} = skip(text, byte_size(text))
    byte_size(text) - left
  end

  # -- white space ---------------------------------------------------------------------------------------------

  defguardp white(c)
            when c in 9..13 or c in [0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000] or
                   c in 0x2000..0x200A

  # Where a line may break there.
  defguardp breaks(c) when white(c) and c not in [0xA0, 0x2007, 0x202F]

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

  # What is between breaks: `from` is where the last one has ended.
  defpure words(text, from, at, done) when at == byte_size(text), do: Enum.reverse(word(text, from, at, done))

  # What is of ASCII is looked at where it is: taking the rest of the text off would cost a binary.
  defpure words(text, from, at, done) do
    case :binary.at(text, at) do
      c when c < 128 and breaks(c) -> after_word(text, from, at, 1, done)
      c when c < 128 -> words(text, from, at + 1, done)
      _ -> beyond_ascii(text, from, at, done)
    end
  end

  defpure beyond_ascii(text, from, at, done) do
    case binary_part(text, at, byte_size(text) - at) do
      <<c::utf8, _::binary>> when breaks(c) -> after_word(text, from, at, byte_size(<<c::utf8>>), done)
      _ -> words(text, from, at + 1, done)
    end
  end

  defpure after_word(text, from, at, size, done),
    do: words(text, at + size, at + size, word(text, from, at, done))

  defpure word(_, from, from, done), do: done
  defpure word(text, from, at, done), do: [binary_part(text, from, at - from) | done]
end
