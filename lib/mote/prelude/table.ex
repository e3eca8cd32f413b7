defmodule Mote.Prelude.Table do
  # THE table of the functions of Elixir's library that behaviours can call and that are written in the language itself:
  # those without functions as arguments with `defpure`, which all callers share, those with them as templates, which
  # become code of each caller. Primitives, and loops of the compiler, are in tables of their own.
  #
  # What is in this table has a property in `test/mote/behaviour/prelude_test.exs`, which compares it with Elixir's own.
  @moduledoc false

  # A row is `{module, words}`, or `{module, place, words}` where the functions are written in the place of another name. A
  # word is `name/arity`, `name/arity,arity`, or `name/arity=own` where the function has another name there, since Kernel,
  # a primitive or another function of the same place has its name. A place belongs to the module of its first row.
  @pure [
    {Access, ~w[
      all/0 at/1 at!/1 elem/1 fetch/2 fetch!/2 filter/1 get/2,3 get_and_update/3=changed key/1,2 key!/1 pop/2 slice/1
    ]},
    {Base, ~w[
      decode16!/1,2 decode16/1,2 decode64!/1,2 decode64/1,2 encode16/1,2 encode64/1,2 url_decode64!/1,2
      url_decode64/1,2 url_encode64/1,2 url_valid64?/1,2 valid16?/1,2 valid64?/1,2
    ]},
    {Enum, ~w[
      all?/1 any?/1 at/2,3 chunk_every/2,3,4 concat/1,2 count/1 count_until/2 dedup/1 drop/2 drop_every/2 empty?/1
      fetch/2 fetch!/2 frequencies/1 intersperse/2 into/2 join/1,2 max/1 min/1 min_max/1 product/1 random/1
      reverse/2 reverse_slice/3 shuffle/1 slice/3 slide/3 sort/1 split/2 take/2 take_every/2 take_random/2
      uniq/1 unzip/1 with_index/1,2 zip/1,2
    ]},
    {Float, ~w[
      ceil/1,2=ceiled floor/1,2=floored max_finite/0 min_finite/0 parse/1 pow/2 ratio/1 round/1,2=rounded
      to_charlist/1=charlist to_string/1=text
    ]},
    {Integer, ~w[
      ceil_div/2 digits/1,2 extended_gcd/2 floor_div/2 gcd/2 mod/2 parse/1,2 popcount/1 pow/2 to_charlist/1,2=charlist
      to_string/1,2=text undigits/1,2
    ]},
    {Kernel, ~w[
      **/2=power =~/2=matches? binary_slice/2,3=slice get_in/2=inside pop_in/2=pop_inside put_in/3=put_inside
      struct/2=structured struct!/2=structured!
    ]},
    {Keyword, ~w[
      delete/2 delete_first/2 drop/2 equal?/2 fetch/2 fetch!/2 from_keys/2 get/2,3 get_values/2 has_key?/2
      intersect/2 keys/1 keyword?/1 merge/2 new/0,1 pop/2,3 pop!/2 pop_first/2,3 pop_values/2 put/3 put_new/3
      replace/3 replace!/3 split/2 take/2 to_list/1 validate!/2 validate/2 values/1
    ]},
    {List, ~w[
      ascii_printable?/1,2 delete/2 delete_at/2 duplicate/2 ends_with?/2 first/1,2 first!/1 flatten/1,2
      improper?/1 insert_at/3 keydelete/3 keyfind/3,4 keyfind!/3 keymember?/3 keyreplace/4 keysort/2
      keystore/4 keytake/3 last/1,2 last!/1 pop_at/2,3 replace_at/3 starts_with?/2 wrap/1 zip/1
    ]},
    {Map, ~w[
      drop/2 equal?/2 from_keys/2 from_struct/1 intersect/2 pop/2,3 pop!/2 replace/3 replace!/3 split/2 take/2
    ]},
    {MapSet, ~w[
      delete/2 difference/2 disjoint?/2 equal?/2 intersection/2 member?/2 new/0,1 put/2 size/1 subset?/2
      symmetric_difference/2 to_list/1 union/2
    ]},
    {Regex, ~w[
      escape/1 match?/2=matched? named_captures/2,3 names/1 opts/1 replace/3,4 run/2,3 scan/2,3 source/1 split/2,3
    ]},
    {Range, ~w[disjoint?/2 new/2,3 shift/2 size/1 split/2 to_list/1]},
    {String, ~w[
      at/2 byte_slice/3 codepoints/1 contains?/2 duplicate/2 ends_with?/2 first/1 graphemes/1
      last/1 length/1=characters next_codepoint/1 next_grapheme/1 next_grapheme_size/1 pad_leading/2,3
      pad_trailing/2,3 printable?/1,2 replace_invalid/1,2 replace_leading/3 replace_prefix/3 replace_suffix/3 replace_trailing/3 reverse/1 slice/3 split/1
      split_at/2 starts_with?/2 to_charlist/1=charlist to_integer/1,2 trim/1,2 trim_leading/1,2 trim_trailing/1,2
      valid?/1,2
    ]},
    {Tuple, ~w[append/2 product/1 sum/1]},
    {:binary, Binary, ~w[
      bin_to_list/1 copy/1,2 decode_unsigned/1,2 encode_unsigned/1,2 first/1 last/1 list_to_bin/1 match/2
      matches/2 part/2 replace/3,4 split/2,3
    ]},
    {:erlang, Erlang, ~w[
      adler32/1 atom_to_binary/1 binary_to_float/1 binary_to_integer/1,2 binary_to_list/1 convert_time_unit/3 crc32/1
      float/1 float_to_binary/2 integer_to_binary/1,2 iolist_size/1 iolist_to_binary/1 list_to_binary/1 split_binary/2
    ]},
    {Base, Base32, ~w[
      decode32!/1,2 decode32/1,2 encode32/1,2 hex_decode32!/1,2 hex_decode32/1,2 hex_encode32/1,2 hex_valid32?/1,2
      valid32?/1,2
    ]},
    {:erlang, Hash, ~w[phash2/1,2]},
    {:erlang, Tuple, ~w[delete_element/2 insert_element/3 make_tuple/2]},
    {:lists, Lists, ~w[keyfind/3 keymember/3 member/2 reverse/1,2 unzip/1]},
    {:maps, Maps, ~w[
      find/2 from_keys/2 from_list/1 get/2 is_key/2=has_key keys/1 merge/2 put/3 remove/2 size/1=size_of take/2 to_list/1
      update/3 values/1
    ]},
    {:math, Math, ~w[ceil/1=ceiled floor/1=floored]},
    {:queue, Queue, ~w[out/1]},
    {IO, Text, ~w[chardata_to_string/1=of_chardata iodata_length/1=bytes iodata_to_binary/1=of_iodata]},
    {Atom, Text, ~w[to_charlist/1=of_atom_characters to_string/1=of_atom]},
    {Function, Lists, ~w[identity/1]},
    {System, Erlang, ~w[convert_time_unit/3]},
    {Kernel, Text, ~w[to_charlist/1=charlist]},
    {Kernel, Inspected, ~w[inspect/1,2=text]},
    {List, Differences, ~w[myers_difference/2]},
    {List, Float, ~w[to_float/1=of_list]},
    {List, Integer, ~w[to_integer/1,2=of_list]},
    {List, Text, ~w[to_charlist/1=characters to_string/1=of_list]},
    {String, Casing, ~w[capitalize/1,2 downcase/1,2 upcase/1,2]},
    {String, Differences, ~w[bag_distance/2 myers_difference/2=of_texts]},
    {String, Regex, ~w[match?/2=of_text?]},
    {String, Places, ~w[count/2 replace/3,4 split/2,3]}
  ]

  @templates [
    {Enum, ~w[
      all?/2 any?/2 chunk_by/2 chunk_while/4 count/2 count_until/3 dedup_by/2 drop_while/2 find/2,3
      find_index/2 find_value/2,3 flat_map/2 flat_map_reduce/3 frequencies_by/2 group_by/2,3 into/3
      map_every/3 map_intersperse/3 map_join/2,3 map_reduce/3 product_by/2 reduce/2 reduce_while/3 reject/2
      scan/2,3 sort/2 sort_by/2,3 split_while/2 split_with/2 sum_by/2 take_while/2 uniq_by/2 zip_reduce/3,4
      zip_with/2,3
    ]},
    {Kernel, ~w[get_and_update_in/3 update_in/3]},
    {Keyword, ~w[
      filter/2 get_and_update!/3 get_and_update/3 get_lazy/3 intersect/3 merge/3 new/2 pop_lazy/3
      put_new_lazy/3 reject/2 replace_lazy/3 split_with/2 update!/3 update/4
    ]},
    {List, ~w[foldl/3 foldr/3 myers_difference/3 update_at/3]},
    {Map, ~w[
      filter/2 get_and_update!/3 get_and_update/3 get_lazy/3 intersect/3 merge/3 pop_lazy/3 put_new_lazy/3
      reject/2 replace_lazy/3 split_with/2
    ]},
    {MapSet, ~w[filter/2 new/2 reject/2 split_with/2]},
    {:lists, Lists, ~w[
      all/2 any/2 dropwhile/2 filter/2 flatmap/2 foldl/3 foldr/3 foreach/2 map/2 mapfoldl/3 partition/2
      search/2 splitwith/2 takewhile/2
    ]},
    {Enum, Best, ~w[max/2,3 max_by/2,3,4 min/2,3 min_by/2,3,4 min_max/2 min_max_by/2,3,4]},
    {List, Enum, ~w[keysort/3]},
    {:maps, Lists, ~w[filter/2=filter_map fold/3=fold_map map/2=map_values update_with/3]}
  ]

  @typedoc "A function, what it is, where it is written, and by what name."
  @type entry :: {{module, atom, arity}, {:pure | :template, place :: module, own :: atom}}

  @doc "All of them, in the order of the table."
  @spec entries() :: [entry]
  def entries, do: rows(:pure, Mote.Prelude, @pure) ++ rows(:template, Mote.Prelude.Inline, @templates)

  defp rows(kind, prefix, table) do
    for row <- table,
        {module, place, words} = placed(row),
        word <- words,
        {name, arities, own} = parts(word),
        arity <- arities do
      {{module, name, arity}, {kind, Module.concat(prefix, place), own}}
    end
  end

  defp placed({module, words}), do: {module, module, words}
  defp placed({_module, _place, _words} = row), do: row

  # At the first slash and the first `=` after it: no name has a slash.
  defp parts(word) do
    [name, rest] = String.split(word, "/", parts: 2)
    [arities | own] = String.split(rest, "=", parts: 2)
    arities = for arity <- String.split(arities, ","), do: String.to_integer(arity)
    {String.to_atom(name), arities, String.to_atom(List.first(own, name))}
  end
end
